// SPDX-License-Identifier: Apache-2.0
// The debugging mode that stops at the first NaN.
#pragma once

#include "graph/node.h"

namespace mt {

// Fails, naming the operator, when a computed value holds a NaN though none of its inputs does.
void check_nan(const Tensor& tensor, const Inputs& inputs);

}  // namespace mt
