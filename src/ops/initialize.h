// SPDX-License-Identifier: Apache-2.0
// Fresh values for weights of shape [out, in, kernel...]; uniform and normal are in ops/random.h.
#pragma once

#include "ops/ops.h"

namespace mt {

Tensor xavier_uniform(const Shape& shape, double gain, Dtype dtype, Device& device);
Tensor xavier_normal(const Shape& shape, double gain, Dtype dtype, Device& device);
Tensor kaiming_uniform(const Shape& shape, double slope, Dtype dtype, Device& device);
Tensor kaiming_normal(const Shape& shape, double slope, Dtype dtype, Device& device);
Tensor orthogonal(const Shape& shape, double gain, Dtype dtype, Device& device);

}  // namespace mt
