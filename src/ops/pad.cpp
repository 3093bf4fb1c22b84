// SPDX-License-Identifier: Apache-2.0
// Writing a block of a tensor: placed in one that is otherwise filled, as padding and the gradient
// of a slice are, or laid over another, as an assignment to a range is.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "graph/history.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/slice.h"

namespace mt {
namespace {

// Where a block of these lengths lies in y; attributes: start and step of each axis.
Layout placed_block(Layout y, const Shape& lengths, const Attributes& block) {
  for (int d = 0; d < lengths.rank(); ++d) {
    const size_t i = 2 * static_cast<size_t>(d);
    y = slice(y, d, block[i], lengths[d], block[i + 1]);
  }
  return y;
}

void set_block(NaiveArray y, const Layout& block, const NaiveArray& value) {
  y.layout = block;
  for (int64_t i = 0; i < value.size(); ++i) move_element(y, i, value, i);
}

// immediate: what is elsewhere, as a constant's
void pad_value(const NaiveCall& call) {
  fill(call.output, call.immediates);
  const NaiveArray &value = call.inputs[0], &y = call.output;
  set_block(y, placed_block(y.layout, value.layout.shape, call.attributes), value);
}

void pad_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] = take_block(dy, node.inputs[0].shape(), node.attributes);
}

// inputs: x and the value of the block; attributes: the step of each axis; immediate: the element
// of x at which the block begins, which one plan serves wherever it is
void overlay_value(const NaiveCall& call) {
  const NaiveArray &value = call.inputs[1], &y = call.output;
  for (int64_t i = 0; i < y.size(); ++i) move_element(y, i, call.inputs[0], i);
  set_block(y, overlaid_block(y.layout, value.layout.shape, call.attributes, call.immediates),
            value);
}

void overlay_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor &x = node.inputs[0], &value = node.inputs[1];
  auto first = static_cast<int64_t>(node.immediates.value[0]);
  Dims starts = x.shape();
  for (int d = x.rank() - 1; d >= 0; --d) {
    const int64_t size = std::max<int64_t>(x.shape()[d], 1);
    starts[d] = first % size;
    first /= size;
  }
  Block block;
  for (int d = 0; d < x.rank(); ++d) {
    block.push_back(starts[d]);
    block.push_back(node.attributes[static_cast<size_t>(d)]);
  }
  if (x.requires_gradient()) gradients[0] = overlay(dy, zeros_like(value), block);
  if (value.requires_gradient()) gradients[1] = take_block(dy, value.shape(), block);
}
}  // namespace

const Op pad_op{.name = "pad", .kind = OpKind::call, .value = pad_value, .gradient = pad_gradient};
const Op overlay_op{
    .name = "overlay",
    .kind = OpKind::call,
    .value = overlay_value,
    .gradient = overlay_gradient,
};

Tensor place(const Tensor& x, const Shape& shape, const Block& block, double fill) {
  return record(pad_op, x.dtype(), shape, {x}, block, constant_immediates(fill, x.dtype()));
}

Tensor place_along(const Tensor& x, const Shape& shape, int axis, int64_t start, int64_t step) {
  return place(x, shape, block_along(axis, shape.rank(), start, step), 0);
}

Tensor placed(const Tensor& x, const Shape& lengths, const Block& block) {
  if (x->op != &pad_op) return nullptr;
  for (size_t i = 0; i < block.size(); i += 2) {
    int64_t step = block[i + 1] + (block[i + 1] == 0);
    if (x->attributes[i] != block[i] || x->attributes[i + 1] != step) return nullptr;
  }
  const Inputs inputs = inputs_of(x);
  return !inputs.empty() && inputs[0].shape() == lengths ? inputs[0] : nullptr;
}

Tensor place(const Tensor& x, const Shape& shape, const Dims& starts, const Dims& steps,
             double fill) {
  if (shape == x.shape()) return x;
  check_shape(shape, size_of(x.dtype()), "place");
  Block block;
  for (int d = 0; d < x.rank(); ++d) {
    block.push_back(starts[d]);
    block.push_back(steps[d]);
  }
  return place(x, shape, block, fill);
}

Tensor overlay(const Tensor& x, const Tensor& value, const Block& block) {
  Attributes steps;
  int64_t first = 0;
  for (int d = 0; d < x.rank(); ++d) {
    const size_t i = 2 * static_cast<size_t>(d);
    first = first * x.shape()[d] + block[i];
    steps.push_back(block[i + 1]);
  }
  return record(overlay_op, x.dtype(), x.shape(), {x, value}, std::move(steps),
                {{static_cast<uint64_t>(first)}});
}

Layout overlaid_block(const Layout& y, const Shape& lengths, const Attributes& steps,
                      const Immediates& first) {
  Layout block{lengths, y.strides, y.offset + static_cast<int64_t>(first.value[0])};
  for (int d = 0; d < lengths.rank(); ++d) block.strides[d] *= steps[static_cast<size_t>(d)];
  return block;
}

namespace {

// The shape with its widths added, which are valid.
Shape padded_shape(const char* name, const Tensor& x, const Dims& before, const Dims& after) {
  if (before.rank() != x.rank() || after.rank() != x.rank()) {
    fail(Code::shape, "%s: %d and %d widths given for %s", name, before.rank(), after.rank(),
         to_string(x.shape()).c_str());
  }
  Shape shape = x.shape();
  for (int d = 0; d < x.rank(); ++d) {
    if (before[d] < 0 || after[d] < 0) {
      fail(Code::invalid, "%s: widths %lld and %lld of axis %d: none may be negative", name,
           static_cast<long long>(before[d]), static_cast<long long>(after[d]), d);
    }
    if (__builtin_add_overflow(shape[d], before[d], &shape[d]) ||
        __builtin_add_overflow(shape[d], after[d], &shape[d])) {
      fail(Code::shape, "%s: axis %d would be too large to address", name, d);
    }
  }
  check_shape(shape, size_of(x.dtype()), name);
  return shape;
}

// What comes before (`front`) or after x along an axis: x mirrored at its end, its end again and
// again, or its other end.
Tensor border_of(const Tensor& x, int axis, int64_t width, bool front, Border border) {
  const int64_t size = x.shape()[axis];
  if (border == Border::wrap) return slice(x, axis, front ? size - width : 0, width, 1);
  if (border == Border::reflect) {
    return flip(slice(x, axis, front ? 1 : size - 1 - width, width, 1), Dims{axis});
  }
  Shape shape = x.shape();
  shape[axis] = width;
  return expand(slice(x, axis, front ? 0 : size - 1, 1, 1), shape);
}

}  // namespace

Tensor pad(const Tensor& x, const Dims& before, const Dims& after, double value) {
  const Shape shape = padded_shape("pad", x, before, after);
  return place(x, shape, before, Dims::filled(x.rank(), 1), value);
}

Tensor pad(const Tensor& x, const Dims& before, const Dims& after, Border border) {
  const char* name = border == Border::reflect ? "pad_reflect"
                     : border == Border::edge  ? "pad_edge"
                                               : "pad_wrap";
  padded_shape(name, x, before, after);
  Tensor y = x;
  // Later axes continue what earlier ones have added, too, so corners are filled.
  for (int d = 0; d < x.rank(); ++d) {
    const int64_t size = x.shape()[d], inner = std::max<int64_t>(size - 1, 0);
    const int64_t most = border == Border::wrap      ? size
                         : border == Border::reflect ? inner
                         : size == 0                 ? 0
                                                     : std::numeric_limits<int64_t>::max();
    if (before[d] > most || after[d] > most) {
      fail(Code::invalid, "%s: widths %lld and %lld of axis %d of %s: at most %lld", name,
           static_cast<long long>(before[d]), static_cast<long long>(after[d]), d,
           to_string(x.shape()).c_str(), static_cast<long long>(most));
    }
    std::vector<Tensor> parts;
    if (before[d] > 0) parts.push_back(border_of(y, d, before[d], true, border));
    parts.push_back(y);
    if (after[d] > 0) parts.push_back(border_of(y, d, after[d], false, border));
    if (parts.size() > 1) y = concat(parts, d);
  }
  return y;
}

}  // namespace mt
