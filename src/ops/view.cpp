// SPDX-License-Identifier: Apache-2.0
// Views: the same elements in another layout. None of them moves data, and none writes through.
#include "base/error.h"
#include "graph/history.h"
#include "ops/indexing.h"
#include "ops/ops.h"

namespace mt {
namespace {

void reshape_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] = reshape(dy, node.inputs[0].shape());
}
Tensor reshape_again(const Node& node, const Tensor* inputs) {
  return reshape(inputs[0], node.shape);
}
const Op reshape_op{
    .name = "reshape",
    .kind = OpKind::view,
    .gradient = reshape_gradient,
    .record_again = reshape_again,
};

void permute_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  Dims inverse = Dims::filled(node.shape.rank(), 0);
  for (int i = 0; i < node.shape.rank(); ++i) {
    inverse[static_cast<int>(node.attributes[i])] = i;
  }
  gradients[0] = permute(dy, inverse);
}
Tensor permute_again(const Node& node, const Tensor* inputs) {
  return permute(inputs[0], axes_of(node));
}
const Op permute_op{
    .name = "permute",
    .kind = OpKind::view,
    .gradient = permute_gradient,
    .record_again = permute_again,
};

void expand_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] = sum_to(dy, node.inputs[0].shape());
}
Tensor expand_again(const Node& node, const Tensor* inputs) {
  return expand(inputs[0], node.shape);
}
const Op expand_op{
    .name = "expand",
    .kind = OpKind::view,
    .gradient = expand_gradient,
    .record_again = expand_again,
};

Tensor detach_again(const Node&, const Tensor* inputs) { return detach(inputs[0]); }
const Op detach_op{.name = "detach", .kind = OpKind::view, .record_again = detach_again};

void alias_gradient(const Node&, const Tensor& dy, Tensor* gradients) { gradients[0] = dy; }
Tensor alias_again(const Node&, const Tensor* inputs) { return alias(inputs[0]); }
const Op alias_op{
    .name = "alias",
    .kind = OpKind::view,
    .gradient = alias_gradient,
    .record_again = alias_again,
};

// attributes: start and step of each axis; one whose step is 0 gives a single position and is gone
Shape slice_lengths(const Node& node) {
  Shape lengths;
  int kept = 0;
  for (size_t i = 1; i < node.attributes.size(); i += 2) {
    lengths.push_back(node.attributes[i] == 0 ? 1 : node.shape[kept++]);
  }
  return lengths;
}
void slice_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  Block block = node.attributes;
  for (size_t i = 1; i < block.size(); i += 2) block[i] += block[i] == 0;
  gradients[0] = place(reshape(dy, slice_lengths(node)), node.inputs[0].shape(), block, 0);
}
Tensor slice_again(const Node& node, const Tensor* inputs) {
  return take_block(inputs[0], slice_lengths(node), node.attributes);
}
// attributes: axis, step, dilation
void window_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] = fold(dy, node.inputs[0].shape(), static_cast<int>(node.attributes[0]),
                      node.attributes[1], node.attributes[2]);
}
Tensor window_again(const Node& node, const Tensor* inputs) {
  return window(inputs[0], static_cast<int>(node.attributes[0]), node.shape.back(),
                node.attributes[1], node.attributes[2]);
}
const Op window_op{
    .name = "window",
    .kind = OpKind::view,
    .gradient = window_gradient,
    .record_again = window_again,
};

// attributes: the two axes
void diagonal_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  int a = static_cast<int>(node.attributes[0]), b = static_cast<int>(node.attributes[1]);
  const Shape& shape = node.inputs[0].shape();
  auto position = [&](int axis) {
    Shape along = Shape::filled(shape.rank(), 1);
    along[axis] = shape[axis];
    return expand(reshape(iota({shape[axis]}, Dtype::int64, dy.device()), along), shape);
  };
  gradients[0] = where(equal(position(a), position(b)), expand(unsqueeze(dy, b), shape),
                       number(0, dy.device()));
}
Tensor diagonal_again(const Node& node, const Tensor* inputs) {
  return diagonal(inputs[0], static_cast<int>(node.attributes[0]),
                  static_cast<int>(node.attributes[1]));
}
const Op diagonal_op{
    .name = "diagonal",
    .kind = OpKind::view,
    .gradient = diagonal_gradient,
    .record_again = diagonal_again,
};

// Replaces a -1 by the size that is left over.
Shape complete(const Shape& shape, int64_t count, const Shape& from) {
  Shape result = shape;
  int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 && unknown < 0) {
      unknown = i;
    } else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known)) {
      fail(Code::shape, "reshape: %s is not a shape", to_string(shape).c_str());
    }
  }
  if (unknown >= 0 && known > 0 && count % known == 0) {
    result[unknown] = count / known;
    known *= result[unknown];
  } else if (unknown >= 0) {
    known = -1;
  }
  if (known != count) {
    fail(Code::shape, "reshape: %s has %lld elements, which do not fill %s",
         to_string(from).c_str(), static_cast<long long>(count), to_string(shape).c_str());
  }
  if (count == 0) check_shape(result, 1, "reshape");
  return result;
}

}  // namespace

const Op slice_op{
    .name = "slice",
    .kind = OpKind::view,
    .gradient = slice_gradient,
    .record_again = slice_again,
};

Tensor reshape(const Tensor& x, const Shape& shape) {
  Shape target = complete(shape, x.size(), x.shape());
  if (target == x.shape()) return x;
  std::optional<Layout> layout = reshape(view_layout(x), target);
  if (!layout) return reshape(copy(x), target);  // these strides cannot express it
  return record_view(reshape_op, x, *layout);
}

Tensor reshaped(const Tensor& x) {
  if (x->op != &reshape_op) return nullptr;
  const Inputs inputs = inputs_of(x);
  return inputs.empty() ? nullptr : inputs[0];
}

Tensor permute(const Tensor& x, const Dims& order) {
  Dims axes = order;
  if (order.rank() != x.rank()) {
    fail(Code::shape, "permute: %d axes given for shape %s", order.rank(),
         to_string(x.shape()).c_str());
  }
  for (int i = 0; i < order.rank(); ++i) {
    axes[i] = -1;
    int axis = normalize_axis(order[i], x.rank(), "permute");
    if (axes.contains(axis)) fail(Code::invalid, "permute: axis %d appears twice", axis);
    axes[i] = axis;
  }
  return record_view(permute_op, x, permute(view_layout(x), axes), to_attributes(axes));
}

Tensor transpose(const Tensor& x) {
  if (x.rank() < 2) {
    fail(Code::shape, "transpose: needs two dimensions, got %s", to_string(x.shape()).c_str());
  }
  Dims order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  std::swap(order[x.rank() - 1], order[x.rank() - 2]);
  return permute(x, order);
}

Tensor expand(const Tensor& x, const Shape& shape) {
  if (shape == x.shape()) return x;
  if (broadcast(x.shape(), shape, "expand") != shape) {
    fail(Code::shape, "expand: %s does not broadcast to %s", to_string(x.shape()).c_str(),
         to_string(shape).c_str());
  }
  return record_view(expand_op, x, expand(view_layout(x), shape));
}

Tensor alias(const Tensor& x) { return record_view(alias_op, x, view_layout(x)); }
Tensor detach(const Tensor& x) { return record_view(detach_op, x, view_layout(x)); }

Tensor slice(const Tensor& x, int axis, int64_t start, int64_t length, int64_t step) {
  int64_t size = x.shape()[axis];
  int64_t last = start + (length - 1) * step;
  if (length < 0 || (length > 0 && (start < 0 || start >= size || last < 0 || last >= size))) {
    fail(Code::index, "slice: %lld elements from %lld by %lld leave axis %d of %s",
         static_cast<long long>(length), static_cast<long long>(start),
         static_cast<long long>(step), axis, to_string(x.shape()).c_str());
  }
  if (start == 0 && step == 1 && length == size) return x;
  Shape lengths = x.shape();
  lengths[axis] = length;
  return take_block(x, lengths, block_along(axis, x.rank(), start, step));
}

Block block_along(int axis, int rank, int64_t start, int64_t step) {
  Block block;
  for (int d = 0; d < rank; ++d) {
    block.push_back(d == axis ? start : 0);
    block.push_back(d == axis ? step : 1);
  }
  return block;
}

Tensor take_block(const Tensor& x, const Shape& lengths, Block block) {
  const Layout whole = view_layout(x);
  Layout layout{{}, {}, whole.offset};
  bool changes = false;
  for (int d = 0; d < x.rank(); ++d) {
    int64_t start = block[2 * static_cast<size_t>(d)], step = block[2 * static_cast<size_t>(d) + 1];
    changes |= start != 0 || step != 1 || lengths[d] != x.shape()[d];
    if (lengths[d] > 0) layout.offset += start * whole.strides[d];
    if (step == 0) continue;
    layout.shape.push_back(lengths[d]);
    // A step may be as long as it likes where it is not taken.
    layout.strides.push_back(lengths[d] > 1 ? whole.strides[d] * step : whole.strides[d]);
  }
  if (!changes) return x;
  if (Tensor part = placed(x, lengths, block)) return reshape(part, layout.shape);
  return record_view(slice_op, x, layout, std::move(block));
}

std::optional<SliceOf> slice_of(const Node& node) {
  if (node.op != &slice_op) return std::nullopt;
  SliceOf slice{-1, 0, 1, slice_lengths(node)};
  const Shape& shape = node.inputs[0].shape();
  for (int d = 0; d < shape.rank(); ++d) {
    size_t i = 2 * static_cast<size_t>(d);
    int64_t start = node.attributes[i], step = node.attributes[i + 1];
    if (start == 0 && step == 1 && slice.lengths[d] == shape[d]) continue;
    if (slice.axis >= 0) return std::nullopt;
    slice.axis = d;
    slice.start = start;
    slice.step = step + (step == 0);
  }
  if (slice.axis < 0) return std::nullopt;
  return slice;
}

Tensor flip(const Tensor& x, const Dims& axes) {
  const Dims flipped = normalize_axes(axes, x.rank(), "flip");
  Block block;
  for (int d = 0; d < x.rank(); ++d) {
    bool turns = x.shape()[d] > 1 && flipped.contains(d);
    block.push_back(turns ? x.shape()[d] - 1 : 0);
    block.push_back(turns ? -1 : 1);
  }
  return take_block(x, x.shape(), block);
}

Tensor squeeze(const Tensor& x, const Dims& axes) {
  Dims chosen = normalize_axes(axes, x.rank(), "squeeze");
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (!chosen.contains(i) || (axes.empty() && x.shape()[i] != 1)) {
      shape.push_back(x.shape()[i]);
    } else if (x.shape()[i] != 1) {
      fail(Code::shape, "squeeze: axis %d of %s is not of size 1", i, to_string(x.shape()).c_str());
    }
  }
  return reshape(x, shape);
}

Tensor unsqueeze(const Tensor& x, int axis) {
  Shape shape = x.shape();
  shape.insert(normalize_axis(axis, x.rank() + 1, "unsqueeze"), 1);
  return reshape(x, shape);
}

Tensor window(const Tensor& x, int axis, int64_t size, int64_t step, int64_t dilation) {
  axis = normalize_axis(axis, x.rank(), "window");
  int64_t extent = x.shape()[axis];
  if (size < 1 || step < 1 || dilation < 1 || extent < 1 || size - 1 > (extent - 1) / dilation) {
    fail(Code::shape, "window: size %lld, step %lld, dilation %lld do not fit axis %d of %s",
         static_cast<long long>(size), static_cast<long long>(step),
         static_cast<long long>(dilation), axis, to_string(x.shape()).c_str());
  }
  return record_view(window_op, x, window(view_layout(x), axis, size, step, dilation),
                     {axis, step, dilation});
}

Tensor diagonal(const Tensor& x, int a, int b) {
  if (x.shape()[a] != x.shape()[b]) {
    fail(Code::shape, "diagonal: axes %d and %d of %s differ", a, b, to_string(x.shape()).c_str());
  }
  Layout layout = view_layout(x);
  layout.strides[a] += layout.strides[b];
  layout.shape.erase(b);
  layout.strides.erase(b);
  return record_view(diagonal_op, x, layout, {a, b});
}

Tensor move_axis(const Tensor& x, int from, int to) {
  from = normalize_axis(from, x.rank(), "move_axis");
  to = normalize_axis(to, x.rank(), "move_axis");
  if (from == to) return x;
  Dims order;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != from) order.push_back(i);
  }
  order.insert(to, from);
  return permute(x, order);
}

}  // namespace mt
