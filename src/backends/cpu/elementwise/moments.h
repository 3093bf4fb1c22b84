// SPDX-License-Identifier: Apache-2.0
// A whole update of Adam or AdamW as one kernel.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// The kernel's operands, over one row only: arrays, constant numbers, and the results of the two
// averages, which it writes.
namespace moments {
enum Operand : int {
  mean_before,
  mean_kept,
  gradient,
  mean_new,
  square_before,
  square_kept,
  square_new,
  correction,
  epsilon,
  weight_before,
  weight_kept,
  rate,
  mean_after,
  square_after,
  count
};
}  // namespace moments

// For each element of one row:
// mean_after = mean_before * mean_kept + gradient * mean_new
// square_after = square_before * square_kept + gradient * gradient * square_new
// out = weight_before * weight_kept
//       - mean_after / (sqrt(square_after) * correction + epsilon) * rate
// nullptr where there is no kernel.
Operator moments_operator(Compute type);

}  // namespace mt::cpu
