// SPDX-License-Identifier: Apache-2.0
// One of two values by a condition, and what is made of that.
#include "base/error.h"
#include "ops/ops.h"
#include "ops/promotion.h"

namespace mt {
namespace {

void where_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor& condition = node.inputs[0];
  if (node.inputs[1].requires_gradient()) {
    gradients[1] = sum_to(where(condition, dy, number(0.0, dy)), node.inputs[1].shape());
  }
  if (node.inputs[2].requires_gradient()) {
    gradients[2] = sum_to(where(condition, number(0.0, dy), dy), node.inputs[2].shape());
  }
}
const Op where_op{.name = "where", .kind = OpKind::select, .gradient = where_gradient};

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape(), "where"), "where");
  Dtype dtype = common_dtype(a, b, "where");
  Device& device = condition.device();
  return record(where_op, dtype, shape,
                {cast(condition, Dtype::boolean), as_dtype(a, dtype, device, "where"),
                 as_dtype(b, dtype, device, "where")});
}

Tensor clip(const Tensor& x, const Tensor& low, const Tensor& high) {
  if (x.dtype() == Dtype::boolean) fail(Code::dtype, "clip: needs numbers, got bool; cast first");
  Dtype dtype = x.dtype();
  for (const Tensor* bound : {&low, &high}) {
    if (!is_integer(x.dtype()) || !*bound || !is_floating(bound->dtype())) continue;
    dtype = promote(dtype, common_dtype(x, *bound, "clip"), "clip");
  }
  // Chosen, rather than the larger or smaller, so that the gradient passes at the bounds too.
  Tensor y = dtype == x.dtype() ? x : cast(x, dtype);
  if (low) {
    Tensor limit = as_dtype(low, dtype, x.device(), "clip");
    y = where(less(y, limit), limit, y);
  }
  if (high) {
    Tensor limit = as_dtype(high, dtype, x.device(), "clip");
    y = where(greater(y, limit), limit, y);
  }
  return y;
}

}  // namespace mt
