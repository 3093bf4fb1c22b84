// SPDX-License-Identifier: Apache-2.0
// Normalizes rows in one kernel: centred and divided by their standard deviation, or divided by
// their root mean square.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// What the kernel reads and, from `mean` on, what it writes besides its result. Operands with a
// star are for centred rows only.
namespace normalization {
enum Operand : int {
  x,
  mean_of,  // * a number, as the next two
  square_of,
  epsilon,
  weight,      // of each row
  bias,        // * of each row
  mean,        // * one for each row
  scale,       // one for each row
  deviations,  // * not written if nullptr
  count
};
}  // namespace normalization

// For each row, if it is to be centred:
// mean = sum(x) / mean_of
// deviations = x - mean
// scale = 1 / sqrt(sum(deviations * deviations) / square_of + epsilon)
// out = deviations * scale * weight + bias
// and otherwise:
// scale = 1 / sqrt(sum(x * x) / square_of + epsilon)
// out = x * scale * weight
// nullptr where there is no kernel.
Operator normalize_operator(bool centred, Compute type);

}  // namespace mt::cpu
