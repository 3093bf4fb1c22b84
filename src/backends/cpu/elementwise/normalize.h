// SPDX-License-Identifier: Apache-2.0
// Rows over their standard deviation, less their mean, or over their root mean square, as one
// kernel.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// What the kernel reads, and, after it, what it writes beside its result. Those with a star serve
// centred rows only.
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

// Of each row, where it is to be centred:
// mean = sum(x) / mean_of
// deviations = x - mean
// scale = 1 / sqrt(sum(deviations * deviations) / square_of + epsilon)
// out = deviations * scale * weight + bias
// and else:
// scale = 1 / sqrt(sum(x * x) / square_of + epsilon)
// out = x * scale * weight
// nullptr where there is no kernel.
Operator normalize_operator(bool centred, Compute type);

}  // namespace mt::cpu
