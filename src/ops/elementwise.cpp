// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/extremes.h"
#include "ops/ops.h"
#include "ops/power.h"

namespace mt {
namespace {

constexpr ElementwiseInfo table[] = {
#define UNARY(name, domain, result, value, gradient) \
  {#name, Domain::domain, 1, Domain::result == Domain::boolean},
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  {#name, Domain::domain, 2, Domain::result == Domain::boolean},
#define same any
#include "ops/elementwise.def"
#undef same
#undef UNARY
#undef BINARY
};

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

constexpr bool is_none(const char* text) {
  return text[0] == 'N' && text[1] == 'O' && text[2] == 'N' && text[3] == 'E' && text[4] == 0;
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

#define ROW(row, differentiable)                                \
  {.name = #row,                                                \
   .kind = OpKind::elementwise,                                 \
   .code = static_cast<uint8_t>(Elementwise::row),              \
   .gradient = differentiable ? elementwise_gradient : nullptr, \
   .is_product = Elementwise::row == Elementwise::mul},
const Op ops[] = {
#define UNARY(name, domain, result, value, gradient) ROW(name, !is_none(#gradient))
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  ROW(name, !is_none(#gradient_a) || !is_none(#gradient_b))
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
};
#undef ROW

}  // namespace

namespace {

// Whether x is a whole plain number that integers of `dtype` do not reach.
bool is_beyond(const Tensor& x, Dtype dtype) {
  if (!x->is_plain_number || is_floating(x.dtype()) || !is_integer(dtype)) return false;
  auto value = static_cast<int64_t>(x->immediates.value[0]);
  int bits = 8 * static_cast<int>(size_of(dtype));
  if (is_unsigned(dtype)) return value < 0 || (bits < 64 && value >> bits != 0);
  return value >> (bits - 1) != value >> 63;
}

Tensor as_dtype(const Tensor& x, Dtype dtype, Device& device, const char* operation) {
  if (!x->is_plain_number) return x.dtype() == dtype ? x : cast(x, dtype);
  if (is_floating(x.dtype())) {
    return full({}, __builtin_bit_cast(double, x->immediates.value[0]), dtype, device);
  }
  auto value = static_cast<int64_t>(x->immediates.value[0]);
  if (is_beyond(x, dtype)) {
    fail(Code::invalid, "%s: the number %lld does not fit into %s; cast the tensor first",
         operation, static_cast<long long>(value), name_of(dtype));
  }
  return full_integer({}, value, dtype, device);
}

}  // namespace

Tensor as_dtype(const Tensor& x, Dtype dtype, Device& device) {
  return as_dtype(x, dtype, device, "assign");
}

Dtype common_dtype(const Tensor& a, const Tensor& b, const char* name) {
  if (!a->is_plain_number && !b->is_plain_number && a.dtype() == b.dtype()) return a.dtype();
  if (a->is_plain_number == b->is_plain_number) {
    return a->is_plain_number && is_floating(promote(a.dtype(), b.dtype(), name))
               ? Dtype::float32
               : promote(a.dtype(), b.dtype(), name);
  }
  const bool first = a->is_plain_number;
  const Dtype number = first ? a.dtype() : b.dtype(), other = first ? b.dtype() : a.dtype();
  if (is_floating(other)) return other;
  if (is_floating(number)) return Dtype::float32;
  return other == Dtype::boolean ? Dtype::int64 : other;
}

namespace {

// Inlined, as nothing is left of it where the operator is known.
[[gnu::always_inline]] inline Dtype working_dtype(const ElementwiseInfo& info, Dtype dtype) {
  switch (info.domain) {
    case Domain::boolean: return Dtype::boolean;
    case Domain::real:
      if (!is_floating(dtype)) return Dtype::float32;
      if (size_of(dtype) == 2 && &info == &table[static_cast<int>(Elementwise::nextafter)]) {
        fail(Code::dtype, "%s: computes in float32, whose steps are not those of %s", info.name,
             name_of(dtype));
      }
      return dtype;
    case Domain::number:
      if (dtype == Dtype::boolean) {
        fail(Code::dtype, "%s: needs numbers, got bool; cast first", info.name);
      }
      return dtype;
    case Domain::integer:
    case Domain::bits:
      if (is_floating(dtype) || (dtype == Dtype::boolean && info.domain == Domain::integer)) {
        fail(Code::dtype, "%s: needs integers, got %s", info.name, name_of(dtype));
      }
      return dtype;
    case Domain::any: return dtype;
  }
  return dtype;
}

Tensor unary(Elementwise code, const Tensor& x) {
  if (code == Elementwise::bitwise_invert && x.dtype() == Dtype::boolean) {
    code = Elementwise::logical_not;  // the other bits of a bool stay 0
  }
  const ElementwiseInfo& row = info(code);
  const Op& op = ops[static_cast<int>(code)];
  Dtype dtype =
      working_dtype(row, x->is_plain_number && is_floating(x.dtype()) ? Dtype::float32 : x.dtype());
  Dtype result = row.boolean_result ? Dtype::boolean : dtype;
  if (!x->is_plain_number && x.dtype() == dtype) return record_same_shape(op, result, x);
  return record(op, result, x.shape(), {as_dtype(x, dtype, x.device())});
}

// A binary operator on operands that differ in shape or dtype, or are plain numbers.
[[gnu::noinline]] Tensor mixed(Elementwise code, const Tensor& a, const Tensor& b) {
  const ElementwiseInfo& row = info(code);
  const Op& op = ops[static_cast<int>(code)];
  const bool alike = a.shape() == b.shape();
  Dtype dtype = working_dtype(row, common_dtype(a, b, row.name));
  if (row.boolean_result && (is_beyond(a, dtype) || is_beyond(b, dtype))) {  // x < 300 of uint8
    dtype = dtype == Dtype::uint64 ? Dtype::float64 : Dtype::int64;
  }
  if (code == Elementwise::pow && is_integer(dtype) && b->is_plain_number) {
    auto exponent = static_cast<int64_t>(b->immediates.value[0]);
    if (exponent < 0) {
      fail(Code::invalid, "pow: %s to the power of %lld gives fractions; cast to a float first",
           name_of(dtype), static_cast<long long>(exponent));
    }
  }
  Device& device = a->is_plain_number ? b.device() : a.device();
  if (code == Elementwise::pow && b->is_plain_number && !a->is_plain_number) {
    const double exponent = is_floating(b.dtype())
                                ? __builtin_bit_cast(double, b->immediates.value[0])
                                : static_cast<double>(static_cast<int64_t>(b->immediates.value[0]));
    if (Tensor y = power_of_number(as_dtype(a, dtype, device), exponent)) return y;
  }
  return record(op, row.boolean_result ? Dtype::boolean : dtype,
                alike ? a.shape() : broadcast(a.shape(), b.shape(), row.name),
                {as_dtype(a, dtype, device, row.name), as_dtype(b, dtype, device, row.name)});
}

inline Tensor binary(Elementwise code, const Tensor& a, const Tensor& b) {
  const ElementwiseInfo& row = info(code);
  if (a->is_plain_number || b->is_plain_number || a.dtype() != b.dtype() ||
      &a.device() != &b.device() || !(a.shape() == b.shape()) ||
      working_dtype(row, a.dtype()) != a.dtype()) {
    return mixed(code, a, b);
  }
  return record_same_shape(ops[static_cast<int>(code)],
                           row.boolean_result ? Dtype::boolean : a.dtype(), a, b);
}

}  // namespace

const ElementwiseInfo& info(Elementwise code) { return table[static_cast<int>(code)]; }

#define UNARY(name, domain, result, value, gradient) \
  Tensor name(const Tensor& x) { return unary(Elementwise::name, x); }
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  Tensor name(const Tensor& a, const Tensor& b) { return binary(Elementwise::name, a, b); }
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY

namespace {

void where_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor& condition = node.inputs[0];
  if (node.inputs[1].requires_gradient()) {
    gradients[1] = sum_to(where(condition, dy, 0.0), node.inputs[1].shape());
  }
  if (node.inputs[2].requires_gradient()) {
    gradients[2] = sum_to(where(condition, 0.0, dy), node.inputs[2].shape());
  }
}
const Op where_op{.name = "where", .kind = OpKind::select, .gradient = where_gradient};

void cast_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  if (is_floating(node.inputs[0].dtype())) gradients[0] = cast(dy, node.inputs[0].dtype());
}
const Op cast_op{.name = "cast", .kind = OpKind::cast, .gradient = cast_gradient};
const Op copy_op{.name = "copy", .kind = OpKind::cast, .gradient = cast_gradient};

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape(), "where"), "where");
  Dtype dtype = common_dtype(a, b, "where");
  Device& device = condition.device();
  return record(where_op, dtype, shape,
                {cast(condition, Dtype::boolean), as_dtype(a, dtype, device, "where"),
                 as_dtype(b, dtype, device, "where")});
}

Tensor cast(const Tensor& x, Dtype dtype) {
  if (x.dtype() == dtype && !x->is_plain_number) return x;
  return record(cast_op, dtype, x.shape(), {x});
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

Tensor copy(const Tensor& x) { return record(copy_op, x.dtype(), x.shape(), {x}); }

}  // namespace mt
