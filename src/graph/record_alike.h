// SPDX-License-Identifier: Apache-2.0
// Recording the commonest operators in less time than record() takes: operands that lie on one
// device and are recorded as they are, and a result of the first one's shape whose elements are no
// larger than its.
#pragma once

#include "graph/node.h"

namespace mt {

Tensor record_alike(const Op& op, Dtype dtype, const Tensor& x);
Tensor record_alike(const Op& op, Dtype dtype, const Tensor& a, const Tensor& b);

}  // namespace mt
