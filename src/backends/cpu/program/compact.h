// SPDX-License-Identifier: Apache-2.0
// Decides which values of a program are compact in registers, in one or two bytes as in memory:
// those that kernels (elementwise/compact.h) can produce so and all their readers can read so.
#pragma once

#include <vector>

#include "backends/cpu/program/program.h"

namespace mt::cpu {

class CompactValues {
 public:
  // `none`: the program's tiles allow no compact values.
  CompactValues(const Program& program, int64_t columns, Reduced reduced, bool none);

  // Whether the result of instruction `at`, which may be a number, is compact.
  bool makes(size_t at) const { return !stays_.empty() && stays_[at]; }
  // Whether operand k of instruction `at` is compact.
  bool reads(size_t at, int k) const;
  // The instruction that computes operand k, before roundings and casts.
  size_t maker(size_t at, int k) const;
  // Sets the step's kernel if it reads or produces compact values; returns whether it does.
  bool find_kernel(size_t at, Step* step) const;

 private:
  Operator operator_of(size_t at) const;
  bool is_number(int maker) const { return maker >= 0 && maker < once_; }
  bool reads_only(size_t at) const;
  bool can_make(size_t at) const;
  bool can_read(size_t at, int k) const;
  bool is_summed(size_t at) const;

  const std::vector<Instruction>& code_;
  int once_;
  int64_t columns_;
  Reduced reduced_;
  struct Makers {
    int of[3] = {-1, -1, -1};
  };
  std::vector<Makers> makers_;  // of the operands of each instruction; -1: no register
  std::vector<bool> stays_;     // whether a value is compact; empty: none is
};

}  // namespace mt::cpu
