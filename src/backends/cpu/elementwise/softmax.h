// SPDX-License-Identifier: Apache-2.0
// The shares of exponentials in their sums by rows, as one kernel.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// What the kernel reads, and, after it, what it writes beside its result.
namespace shares {
enum Operand : int {
  x,
  largest,  // one for each row, as the next two
  sum,
  inverse,
  exponentials,  // not written if nullptr
  count
};
}  // namespace shares

// Of each row:
// largest = max(x)
// exponentials = exp(x - largest)
// sum = sum(exponentials)
// inverse = 1 / sum
// out = exponentials * inverse
// nullptr where there is no kernel.
Operator softmax_operator(Compute type);

}  // namespace mt::cpu
