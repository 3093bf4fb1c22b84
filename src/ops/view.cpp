// SPDX-License-Identifier: Apache-2.0
// Views: the same elements in another layout. None of them moves data, and none writes through.
#include "ops/view.h"

#include "base/error.h"
#include "graph/history.h"
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

Tensor reshape(const Tensor& x, const Shape& shape) {
  Shape target = complete(shape, x.size(), x.shape());
  if (target == x.shape()) return x;
  std::optional<Layout> layout = reshape(view_layout(x), target);
  if (!layout) return reshape(copy(x), target);  // these strides cannot express it
  return record_view(reshape_op, x, *layout);
}

Tensor contiguous(const Tensor& x) { return is_contiguous(view_layout(x)) ? x : copy(x); }

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
  const int last = x.rank() - 1;
  if (last < 1) {
    fail(Code::shape, "transpose: needs two dimensions, got %s", to_string(x.shape()).c_str());
  }
  if (Thread& thread = current_thread(); is_untracked(x, thread)) {  // every product has one
    Layout layout = x->layout();
    layout.shape[last - 1] = x.shape()[last];
    layout.shape[last] = x.shape()[last - 1];
    layout.strides[last - 1] = x->strides[last];
    layout.strides[last] = x->strides[last - 1];
    return untracked_view(permute_op, x, layout, {}, thread);
  }
  Dims order = Dims::filled(x.rank(), last);
  for (int i = 0; i + 1 < last; ++i) order[i] = i;
  order[last] = last - 1;
  return record_view(permute_op, x, permute(view_layout(x), order), to_attributes(order));
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
