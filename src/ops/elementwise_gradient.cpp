// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise_gradient.h"

#include "ops/extremes.h"
#include "ops/ops.h"

namespace mt {
namespace {

Tensor where(const Tensor& condition, const Tensor& a, double b) {
  return where(condition, a, number(b, a));
}
Tensor where(const Tensor& condition, double a, const Tensor& b) {
  return where(condition, number(a, b), b);
}

// The gradient of relu. Where dy was shared among pooled extremes, it is taken of what is shared,
// which is fewer numbers.
Tensor only_where_positive(const Tensor& y, const Tensor& dy) {
  if (Tensor shared = share_where_positive(y, dy)) return shared;
  const Tensor zero = number(0.0, y);
  return where(greater(y, zero), dy, zero);
}

// Slopes of slopes. Far from zero they vanish, and their factors may overflow.
Tensor bounded(const Tensor& x) { return where(less(x * x, number(128.0, x)), x, 16.0); }
Tensor silu_curvature(const Tensor& x) {
  Tensor s = sigmoid(x);
  return s * (1.0 - s) * (x * (1.0 - s * 2.0) + 2.0);
}
Tensor gelu_curvature(const Tensor& x) {
  Tensor near = bounded(x), square = near * near;
  return exp(square * -0.5) * (2.0 - square) * 0.3989422804014327;
}
Tensor gelu_tanh_curvature(const Tensor& x) {
  Tensor near = bounded(x), square = near * near;
  Tensor inner = square * 0.10703222440890037 + 0.7978845608028654;
  Tensor t = tanh(near * (square * 0.035677408136300125 + 0.7978845608028654));
  return (1.0 - t * t) *
         (square * 0.21406444881780075 + 0.7978845608028654 - near * t * inner * inner);
}
// What b - 1 is the exponent of in the slope of a ** b. That is 0 where b is, whose factor must not
// be infinite or NaN then; elsewhere a itself, on which the slope's own slopes depend.
Tensor pow_slope_base(const Tensor& a, const Tensor& b) {
  const bool known = b->op->kind == OpKind::constant && !b->variable;
  if (known && __builtin_bit_cast(double, b->immediates.value[0]) != 0) return a;
  return where(logical_or(b, greater(abs(a), number(0.0, a))), a, 1.0);
}
// The slope of atan2(a, b) by a, b / (a^2 + b^2), whose squares may overflow or vanish. 0 at the
// origin.
Tensor angle_slope(const Tensor& a, const Tensor& b) {
  Tensor distance = hypot(a, b);
  distance = where(equal(distance, number(0.0, distance)), 1.0, distance);
  return b / distance / distance;
}
// 1 where a > b, one half where they are equal, else 0: the slope of maximum.
Tensor step(const Tensor& a, const Tensor& b) {
  return (cast(greater(a, b), a.dtype()) + cast(greater_equal(a, b), a.dtype())) * 0.5;
}

// gradient_of[code][operand] records the gradient; nullptr where the table says NONE.
using RowGradient = Tensor (*)(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
struct RowGradients {
  RowGradient operand[2];
};
#define NONE Tensor()
#define UNARY(name, domain, result, value, gradient)                                       \
  [[maybe_unused]] Tensor name##_gradient([[maybe_unused]] const Tensor& x, const Tensor&, \
                                          [[maybe_unused]] const Tensor& y,                \
                                          [[maybe_unused]] const Tensor& dy) {             \
    return gradient;                                                                       \
  }
#define BINARY(name, domain, result, value, gradient_a, gradient_b)          \
  [[maybe_unused]] Tensor name##_gradient_a(                                 \
      [[maybe_unused]] const Tensor& a, [[maybe_unused]] const Tensor& b,    \
      [[maybe_unused]] const Tensor& y, [[maybe_unused]] const Tensor& dy) { \
    return gradient_a;                                                       \
  }                                                                          \
  [[maybe_unused]] Tensor name##_gradient_b(                                 \
      [[maybe_unused]] const Tensor& a, [[maybe_unused]] const Tensor& b,    \
      [[maybe_unused]] const Tensor& y, [[maybe_unused]] const Tensor& dy) { \
    return gradient_b;                                                       \
  }
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
#undef NONE

constexpr RowGradients gradient_of[] = {
#define UNARY(name, domain, result, value, gradient) \
  {{is_none(#gradient) ? nullptr : name##_gradient, nullptr}},
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  {{is_none(#gradient_a) ? nullptr : name##_gradient_a,             \
    is_none(#gradient_b) ? nullptr : name##_gradient_b}},
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
};

}  // namespace

void elementwise_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor& a = node.inputs[0];
  const Tensor& b = node.inputs[node.inputs.size() - 1];
  Tensor y(const_cast<Node*>(&node));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    RowGradient gradient = gradient_of[node.op->code].operand[i];
    if (!gradient || !node.inputs[i].requires_gradient()) continue;
    gradients[i] = gradient(a, b, y, dy);
    const Shape& shape = node.inputs[i].shape();
    if (gradients[i] && gradients[i].shape() != shape) gradients[i] = sum_to(gradients[i], shape);
  }
}

}  // namespace mt
