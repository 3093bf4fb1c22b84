// SPDX-License-Identifier: Apache-2.0
// A tensor of one number with the elements of x set into it at even distances along every axis:
// padding, and the zeros that a strided convolution's gradient has between its elements.
#include "ops/naive.h"
#include "ops/ops.h"

namespace mt {
namespace {

// attributes: start and step of each axis; the immediate is the number, the bits of a double
void place_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  double fill = __builtin_bit_cast(double, call.immediates.value[0]);
  for (int64_t i = 0; i < y.size(); ++i) y.set_number(i, fill);
  NaiveArray part = y;
  for (int d = 0; d < x.layout.shape.rank(); ++d) {
    size_t at = static_cast<size_t>(2 * d);
    part.layout = slice(part.layout, d, call.attributes[at], x.layout.shape[d],
                        call.attributes[at + 1]);
  }
  for (int64_t i = 0; i < x.size(); ++i) {
    if (is_floating(x.dtype)) part.set_number(i, x.number(i));
    else part.set_integer(i, x.integer(i));
  }
}

void place_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  Tensor dx = dy;
  const Shape& shape = node.inputs[0].shape();
  for (int d = 0; d < shape.rank(); ++d) {
    size_t at = static_cast<size_t>(2 * d);
    dx = slice(dx, d, node.attributes[at], shape[d], node.attributes[at + 1]);
  }
  gradients[0] = dx;
}
const Op place_op{"place", OpKind::call, 0, place_value, place_gradient};

}  // namespace

Tensor place(const Tensor& x, const Shape& shape, const Dims& starts, const Dims& steps,
             double fill) {
  if (shape == x.shape()) return x;
  check_shape(shape, size_of(x.dtype()), "place");
  Attributes attributes;
  for (int d = 0; d < x.rank(); ++d) {
    attributes.push_back(starts[d]);
    attributes.push_back(steps[d]);
  }
  return record(place_op, x.dtype(), shape, {x}, attributes,
                Immediates{{__builtin_bit_cast(uint64_t, fill), 0}});
}

}  // namespace mt
