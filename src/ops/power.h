// SPDX-License-Identifier: Apache-2.0
// Powers of a plain number that cheaper operators give.
#pragma once

#include "graph/node.h"

namespace mt {

// x to the power of `exponent` by operators whose error is below 2 ulp and that treat zeros,
// infinities and NaN as pow does; nullptr where pow has to.
Tensor power_of_number(const Tensor& x, double exponent);

}  // namespace mt
