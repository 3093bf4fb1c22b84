// SPDX-License-Identifier: Apache-2.0
// Two ways to the same bits. As element-wise operators and a sum it fuses with what is around it.
// An operator of its own goes once through windows such as pooling's, whose elements lie apart: for
// these, picking them from memory takes longer than all else.
#include "ops/extremes.h"

#include <vector>

#include "graph/history.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/view.h"

namespace mt {
namespace {

// attributes: axes; inputs: x, y and dy
void share_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.inputs[1], &dy = call.inputs[2];
  const Shape& shape = x.layout.shape;
  // The extreme that each element belongs to.
  Layout windows = contiguous_layout(y.layout.shape);
  for (int64_t axis : call.attributes) {
    windows.shape.insert(static_cast<int>(axis), shape[static_cast<int>(axis)]);
    windows.strides.insert(static_cast<int>(axis), 0);
  }
  const NaiveArray extremes{nullptr, y.dtype, windows};
  std::vector<int64_t> counts(static_cast<size_t>(y.size()), 0);
  auto found = [&](int64_t i) { return x.number(i) == y.number(extremes.position(i)); };
  for (int64_t i = 0; i < x.size(); ++i) {
    counts[extremes.position(i)] += found(i);
  }
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t of = extremes.position(i);
    const double count = static_cast<double>(counts[of]);
    call.output.set_number(i, found(i) ? dy.number(of) / count : 0);
  }
}

Tensor are_extremes(const Tensor& x, const Tensor& y, const Dims& axes) {
  return equal(x, reshape(y, kept_shape(x.shape(), axes)));
}
Tensor how_many(const Tensor& x, const Tensor& y, const Dims& axes) {
  return sum(cast(are_extremes(x, y, axes), x.dtype()), axes);
}
Tensor zero(const Tensor& like) { return number(0, like); }

void share_gradient(const Node& node, const Tensor& ddx, Tensor* gradients) {
  const Tensor &x = node.inputs[0], &y = node.inputs[1];
  const Dims axes = axes_of(node);
  gradients[2] = sum(where(are_extremes(x, y, axes), ddx, zero(x)), axes) / how_many(x, y, axes);
}

const Op share_op{
    .name = "share_among_extremes",
    .kind = OpKind::call,
    .value = share_value,
    .gradient = share_gradient,
};

// Windows of a few elements in lines that follow each other, so that elements of one window lie
// between those of others.
bool is_worth_a_pass(const Tensor& x, const Dims& axes) {
  const int last = x.rank() - 1;
  int64_t elements = 1;
  for (int64_t axis : axes) elements *= x.shape()[static_cast<int>(axis)];
  return x.device().host_memory && x.dtype() == Dtype::float32 && last > 1 && axes.contains(last) &&
         !axes.contains(last - 1) && x.shape()[last] > 1 && x.shape()[last] <= most_window_width &&
         elements <= most_window_elements && axes.rank() > 1;
}

}  // namespace

Shape kept_shape(const Shape& shape, const Dims& axes) {
  Shape kept = shape;
  for (int64_t axis : axes) kept[static_cast<int>(axis)] = 1;
  return kept;
}

Tensor share_among_extremes(const Tensor& x, const Tensor& y, const Tensor& dy, const Dims& axes) {
  if (is_worth_a_pass(x, axes)) {
    return record(share_op, x.dtype(), x.shape(), {x, y, dy}, to_attributes(axes));
  }
  // Compared once to count and once to choose, which takes less than storing what was found.
  Tensor share = dy / how_many(x, y, axes);
  return where(are_extremes(x, y, axes), reshape(share, kept_shape(x.shape(), axes)), zero(x));
}

Tensor share_where_positive(const Tensor& x, const Tensor& shared) {
  Tensor whole = shared;
  if (Tensor other = reshaped(whole)) whole = other;
  if (whole->op != &share_op) return nullptr;
  const Inputs inputs = inputs_of(whole);
  if (inputs.empty()) return nullptr;
  const Tensor &elements = inputs[0], &y = inputs[1], &dy = inputs[2];
  if (elements.node() != x.node() && reshaped(elements).node() != x.node()) return nullptr;
  const Tensor none = zero(y), kept = where(greater(y, none), dy, none);
  return reshape(share_among_extremes(elements, y, kept, axes_of(*whole.node())), shared.shape());
}

}  // namespace mt
