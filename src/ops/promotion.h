// SPDX-License-Identifier: Apache-2.0
// In which dtype operands of different ones meet: what common_dtype() and as_dtype() in ops/ops.h
// leave to operators.
#pragma once

#include "graph/node.h"

namespace mt {

// Whether x is a whole plain number that integers of `dtype` do not reach.
bool is_beyond(const Tensor& x, Dtype dtype);
// as_dtype() for an operator that is named where a plain number does not fit.
Tensor as_dtype(const Tensor& x, Dtype dtype, Device& device, const char* operation);

}  // namespace mt
