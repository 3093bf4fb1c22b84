// SPDX-License-Identifier: Apache-2.0
// Judges contractions by a scalar loop written from ops/order.h and ops/minimal_filtering.h, bit
// for bit.
#pragma once

#include <initializer_list>
#include <random>
#include <vector>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/instruction_set.h"

namespace mt::cpu {

using Random = std::mt19937;

// Runs f once for each instruction set that this machine has.
template <class F>
void on_every_target(F&& f) {
  for (const char* name : {"AVX3", "AVX2", "NEON", "EMU128", "SCALAR"}) {
    if (set_instruction_set(name)) f(name);
  }
  set_instruction_set(nullptr);
}

inline int64_t pick(Random& random, std::initializer_list<int64_t> values) {
  return values.begin()[random() % values.size()];
}

// a[m, k] * b[n, k] with given layouts: each operand contiguous along k or along its rows.
inline Contraction matrices(int64_t m, int64_t n, int64_t k, bool a_along_k, bool b_along_k,
                            Dtype dtype) {
  return {{},
          {{m, a_along_k ? k : 1, 0}},
          {{n, 0, b_along_k ? k : 1}},
          {{k, a_along_k ? 1 : m, b_along_k ? 1 : n}},
          dtype,
          dtype,
          dtype};
}

// Runs c on random numbers with so many threads and on every instruction set; fails fatally unless
// each element of the result is the loop's, and each tile is reported once, when it holds them.
void check(const Contraction& c, Random& random, const std::vector<int>& thread_counts);

}  // namespace mt::cpu
