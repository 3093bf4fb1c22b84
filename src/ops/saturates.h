// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/elementwise.h"

namespace mt {

// Whether a cast between them keeps to the range of `to`, which is less than its compute type's.
constexpr bool saturates(Compute from, Dtype to) {
  return (from == Compute::f32 || from == Compute::f64) && !is_floating(to) && needs_rounding(to);
}

}  // namespace mt
