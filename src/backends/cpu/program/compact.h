// SPDX-License-Identifier: Apache-2.0
// Which values of a program are compact in its registers, in one or two bytes as in memory: those
// that kernels (elementwise/compact.h) make so and all who read them can read so.
#pragma once

#include <vector>

#include "backends/cpu/program/program.h"

namespace mt::cpu {

class CompactValues {
 public:
  // `none`: the program's tiles are such that nothing does.
  CompactValues(const Program& program, int64_t columns, Reduced reduced, bool none);

  // Whether the value that instruction `at` makes does.
  bool makes(size_t at) const { return !stays_.empty() && stays_[at]; }
  // Whether what it reads as operand k does.
  bool reads(size_t at, int k) const;
  // The instruction that makes operand k, before it was rounded or cast.
  size_t maker(size_t at, int k) const;
  // Sets the step's kernel, if it reads or makes such values.
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
  std::vector<bool> stays_;     // empty: nothing does
};

}  // namespace mt::cpu
