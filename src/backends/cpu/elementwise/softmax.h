// SPDX-License-Identifier: Apache-2.0
// Softmax of rows, as one kernel.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// What the kernel reads and, from `largest` on, what it writes besides its result.
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

// For each row:
// largest = max(x)
// exponentials = exp(x - largest)
// sum = sum(exponentials)
// inverse = 1 / sum
// out = exponentials * inverse
// nullptr where there is no kernel.
Operator softmax_operator(Compute type);

}  // namespace mt::cpu
