// SPDX-License-Identifier: Apache-2.0
// Rows of ops/elementwise.def as kernels, for one compute type T at a time. Included once for each
// instruction set; a file that asks for kernel_table<T>() makes T's kernels.
#include <algorithm>
#include <array>
#include <cmath>

#include "backends/cpu/elementwise/elements.h"
#include "backends/cpu/elementwise/vector_math.h"

#if defined(MT_CPU_OPERATORS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_OPERATORS_H
#undef MT_CPU_OPERATORS_H
#else
#define MT_CPU_OPERATORS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

#define UNARY(name, domain, result, value, gradient) \
  struct name##_operator {                           \
    template <class V>                               \
    static HWY_INLINE auto apply(V x) {              \
      return value;                                  \
    }                                                \
  };
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  struct name##_operator {                                          \
    template <class V>                                              \
    static HWY_INLINE auto apply(V a, V b) {                        \
      return value;                                                 \
    }                                                               \
  };
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY

// x / d for a constant d, by its reciprocal in two parts: r = 1 / d, rounded, and the error of r.
// Their product with x is within a unit in the last place of the quotient, and one Newton step in
// fused multiply-adds then gives the correctly rounded quotient (Markstein's theorem), in less than
// half the time, as long as the remainder is exact: where the quotient is not too small, and not a
// NaN, which it becomes if it overflows.
template <class T>
struct Divisor {
  Vector<T> d, minus_d, r, r_low, least;
  static constexpr T tiny = sizeof(T) == 4 ? T(0x1p-100) : T(0x1p-960);
  static constexpr T least_quotient = sizeof(T) == 4 ? T(0x1p-124) : T(0x1p-1020);
  static bool serves(T value) { return std::abs(value) >= tiny && std::abs(value) <= 1 / tiny; }
  explicit Divisor(T value)
      : d(value),
        minus_d(-value),
        r(1 / value),
        r_low(std::fma(-value, 1 / value, T(1)) / value),
        least(std::max(least_quotient, 2 * tiny * std::abs(1 / value))) {}
  HWY_INLINE Vector<T> quotient(Vector<T> x) const {
    Vector<T> first = fma(x, r, x * r_low);
    return fma(fma(minus_d, first, x), r, first);
  }
  HWY_INLINE Mask<T> is_exact(Vector<T> q) const { return abs(q) >= least; }
  // x / d where the quotient q may not be exact.
  HWY_INLINE Vector<T> otherwise(Vector<T> x, Vector<T> q) const {
    Mask<T> zero = x == Vector<T>(0);
    return all(is_exact(q) | zero) ? select(zero, x * r, q) : x / d;
  }
};

template <class T>
void divide(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  constexpr size_t lanes = lane_count<T>;
  if (is_baseline || !inputs[1].repeated || columns < int64_t{4 * lanes}) {
    return elements<div_operator, T, false, 2>(out, inputs, rows, columns);
  }
  Input row[2] = {inputs[0], inputs[1]};
  char* y = static_cast<char*>(out);
  for (; rows > 0; --rows) {
    T value;
    memcpy(&value, row[1].data, sizeof(T));
    if (Divisor<T>::serves(value) && !row[0].repeated) {
      const Divisor<T> divisor(value);
      const char* p = static_cast<const char*>(row[0].data);
      size_t left = columns;
      constexpr size_t bytes = lanes * sizeof(T);
      for (; left >= 2 * lanes; left -= 2 * lanes, p += 2 * bytes, y += 2 * bytes) {
        fetch(p, inputs[0].ahead);
        fetch(p + bytes, inputs[0].ahead);
        const Vector<T> a = load<T>(p), b = load<T>(p + bytes);
        Vector<T> x = divisor.quotient(a), z = divisor.quotient(b);
        if (HWY_UNLIKELY(!all(divisor.is_exact(x) & divisor.is_exact(z)))) {
          x = divisor.otherwise(a, x);
          z = divisor.otherwise(b, z);
        }
        store(x.raw, y);
        store(z.raw, y + bytes);
      }
      for (size_t n; left > 0; left -= n, p += n * sizeof(T), y += n * sizeof(T)) {
        n = std::min(left, lanes);
        const Vector<T> a = n == lanes ? load<T>(p) : load<T>(p, n);
        const Vector<T> x = divisor.otherwise(a, divisor.quotient(a));
        n == lanes ? store(x.raw, y) : store(x.raw, y, n);
      }
    } else {
      elements<div_operator, T, false, 2>(y, row, 1, columns);
      y += static_cast<size_t>(columns) * sizeof(T);
    }
    for (Input& input : row) input.data = static_cast<const char*>(input.data) + input.pitch;
  }
}

// Whether an operator is cheaper than the loop around it, or gains from two vectors at a time
// nevertheless, as quotients of integers do.
template <class T>
constexpr bool is_cheap(Elementwise code, Domain domain) {
  if (std::is_integral_v<T> || code == Elementwise::leaky_relu) return true;
  const bool divides = code == Elementwise::floor_divide || code == Elementwise::remainder;
  return domain != Domain::real && code != Elementwise::pow && !divides;
}

// Whether it makes no difference if integers are signed, so that one kernel serves both kinds.
constexpr bool ignores_sign(Elementwise code) {
  switch (code) {
    case Elementwise::neg:
    case Elementwise::square:
    case Elementwise::floor:
    case Elementwise::ceil:
    case Elementwise::trunc:
    case Elementwise::round:
    case Elementwise::add:
    case Elementwise::sub:
    case Elementwise::mul:
    case Elementwise::equal:
    case Elementwise::not_equal:
    case Elementwise::logical_not:
    case Elementwise::logical_and:
    case Elementwise::logical_or:
    case Elementwise::logical_xor:
    case Elementwise::bitwise_invert:
    case Elementwise::bitwise_and:
    case Elementwise::bitwise_or:
    case Elementwise::bitwise_xor: return true;
    default: return false;
  }
}
template <class T, Elementwise code>
using LaneFor = std::conditional_t<std::is_same_v<T, uint64_t> && ignores_sign(code), int64_t, T>;

using OperatorTable = std::array<Operator, static_cast<size_t>(Elementwise::count)>;

template <class Op, class T, Elementwise code, Domain domain, size_t arity>
constexpr Operator operator_or_none() {
  if constexpr (std::is_same_v<Op, div_operator> && std::is_floating_point_v<T>) {
    return &divide<T>;
  } else if constexpr (has_values<T>(domain)) {
    return &elements<Op, LaneFor<T, code>, is_cheap<T>(code, domain), arity>;
  } else {
    return nullptr;
  }
}

template <class T>
const Operator* kernel_table() {
  static constexpr OperatorTable table = {
#define UNARY(name, domain, result, value, gradient) \
  operator_or_none<name##_operator, T, Elementwise::name, Domain::domain, 1>(),
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  operator_or_none<name##_operator, T, Elementwise::name, Domain::domain, 2>(),
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
  };
  return table.data();
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
