// SPDX-License-Identifier: Apache-2.0
// The transpose of window: elements of windows added up where they came from.
#include "base/error.h"
#include "graph/record.h"
#include "ops/naive.h"
#include "ops/ops.h"

namespace mt {
namespace {

// attributes: axis, step, dilation
void fold_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  int axis = static_cast<int>(call.attributes[0]);
  Layout windows =
      window(y.layout, axis, x.layout.shape.back(), call.attributes[1], call.attributes[2]);
  NaiveArray target{y.data, y.dtype, windows};
  // Sums are kept in float64 for each element, so 16-bit results round once.
  std::vector<double> sums(static_cast<size_t>(y.size()), 0.0);
  for (int64_t i = 0; i < x.size(); ++i) {
    sums[target.position(i)] += x.number(i);
  }
  for (int64_t i = 0; i < y.size(); ++i) {
    y.set_number(i, sums[y.position(i)]);
  }
}

void fold_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] = window(dy, static_cast<int>(node.attributes[0]), node.inputs[0].shape().back(),
                        node.attributes[1], node.attributes[2]);
}
const Op fold_op{
    .name = "fold",
    .kind = OpKind::call,
    .value = fold_value,
    .gradient = fold_gradient,
};

}  // namespace

Tensor fold(const Tensor& x, const Shape& shape, int axis, int64_t step, int64_t dilation) {
  if (!is_floating(x.dtype())) fail(Code::dtype, "fold: needs floats, got %s", name_of(x.dtype()));
  // What repeats along another axis, as the gradient of a mean over windows does, is folded once,
  // unless it has a gradient itself, which each repetition has to get.
  Tensor windows = x;
  Shape once = shape;
  const Layout layout = view_layout(x);
  for (int d = 0; d < shape.rank() && !x.requires_gradient(); ++d) {
    if (d == axis || shape[d] < 2 || layout.strides[d] != 0) continue;
    windows = slice(windows, d, 0, 1, 1);
    once[d] = 1;
  }
  return expand(record(fold_op, x.dtype(), once, {windows}, {axis, step, dilation}), shape);
}

}  // namespace mt
