// SPDX-License-Identifier: Apache-2.0
// The transposes of slice and window: elements placed, or added up, in a tensor of zeros.
#include "ops/naive.h"
#include "ops/ops.h"
#include "tensor/error.h"

namespace mt {
namespace {

// attributes: axis, start, step
void embed_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  for (int64_t i = 0; i < y.size(); ++i) y.set_integer(i, 0);
  NaiveArray part{y.data, y.dtype,
                  slice(y.layout, static_cast<int>(call.attributes[0]), call.attributes[1],
                        x.layout.shape[static_cast<int>(call.attributes[0])], call.attributes[2])};
  for (int64_t i = 0; i < x.size(); ++i) {
    if (is_floating(x.dtype)) part.set_number(i, x.number(i));
    else part.set_integer(i, x.integer(i));
  }
}

void embed_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  int axis = static_cast<int>(node.attributes[0]);
  gradients[0] = slice(dy, axis, node.attributes[1], node.inputs[0].shape()[axis],
                       node.attributes[2]);
}
const Op embed_op{"embed", OpKind::call, 0, embed_value, embed_gradient};

// attributes: axis, step, dilation
void fold_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  int axis = static_cast<int>(call.attributes[0]);
  Layout windows = window(y.layout, axis, x.layout.shape.back(), call.attributes[1],
                          call.attributes[2]);
  NaiveArray target{y.data, y.dtype, windows};
  if (!is_floating(y.dtype)) fail(Code::dtype, "fold: needs floats, got %s", name_of(y.dtype));
  // Sums are kept in float64 for each element, so 16-bit results round once.
  std::vector<double> sums(static_cast<size_t>(y.size()), 0.0);
  for (int64_t i = 0; i < x.size(); ++i) {
    sums[static_cast<size_t>(target.position(i))] += x.number(i);
  }
  for (int64_t i = 0; i < y.size(); ++i) {
    y.set_number(i, sums[static_cast<size_t>(y.position(i))]);
  }
}

void fold_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] = window(dy, static_cast<int>(node.attributes[0]), node.inputs[0].shape().back(),
                        node.attributes[1], node.attributes[2]);
}
const Op fold_op{"fold", OpKind::call, 0, fold_value, fold_gradient};

}  // namespace

Tensor embed(const Tensor& x, const Shape& shape, int axis, int64_t start, int64_t step) {
  return record(embed_op, x.dtype(), shape, {x}, {axis, start, step});
}

Tensor fold(const Tensor& x, const Shape& shape, int axis, int64_t step, int64_t dilation) {
  return record(fold_op, x.dtype(), shape, {x}, {axis, step, dilation});
}

}  // namespace mt
