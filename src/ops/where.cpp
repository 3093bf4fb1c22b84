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

// The larger or smaller of a bound and x, of which x is taken where they are equal: the gradient
// passes there.
void bounded_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor &bound = node.inputs[0], &x = node.inputs[1];
  const bool is_low = node.op->code == static_cast<uint8_t>(Elementwise::maximum);
  Tensor beyond = is_low ? less(x, bound) : greater(x, bound), none = number(0.0, dy);
  if (bound.requires_gradient()) {
    gradients[0] = sum_to(where(beyond, dy, none), bound.shape());
  }
  if (x.requires_gradient()) gradients[1] = sum_to(where(beyond, none, dy), x.shape());
}
const Op at_least_op{.name = "at_least",
                     .kind = OpKind::elementwise,
                     .code = static_cast<uint8_t>(Elementwise::maximum),
                     .gradient = bounded_gradient};
const Op at_most_op{.name = "at_most",
                    .kind = OpKind::elementwise,
                    .code = static_cast<uint8_t>(Elementwise::minimum),
                    .gradient = bounded_gradient};

// The bound as one of the same effect that an integer of `dtype` can hold.
Tensor within(const Tensor& bound, Dtype dtype) {
  if (bound->is_plain_number || !is_integer(bound.dtype()) || !is_integer(dtype)) return bound;
  const auto value_bits = [](Dtype type) {
    return 8 * static_cast<int>(size_of(type)) - is_signed_integer(type);
  };
  const int bits = value_bits(dtype), of_bound = value_bits(bound.dtype());
  const auto highest = static_cast<int64_t>(~uint64_t{0} >> (64 - bits));  // if of_bound > bits
  Tensor result = bound;
  if (of_bound > bits) result = minimum(result, integer_number(highest, bound.device()));
  const bool is_lower = is_signed_integer(bound.dtype()) && (is_unsigned(dtype) || of_bound > bits);
  const int64_t lowest = is_unsigned(dtype) ? 0 : -highest - 1;
  return is_lower ? maximum(result, integer_number(lowest, bound.device())) : result;
}

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
  Tensor y = dtype == x.dtype() ? x : cast(x, dtype);
  auto bound = [&](const Op& op, const Tensor& at) {
    Tensor limit = as_dtype(within(at, dtype), dtype, x.device(), "clip");
    Shape shape = broadcast(limit.shape(), y.shape(), "clip");
    y = record(op, dtype, shape, {limit, as_dtype(y, dtype, x.device(), "clip")});
  };
  if (low) bound(at_least_op, low);
  if (high) bound(at_most_op, high);
  return y;
}

}  // namespace mt
