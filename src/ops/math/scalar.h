// SPDX-License-Identifier: Apache-2.0
// The mathematics for plain numbers: V is float, double or Integer<T>. CUDA compiles it as device
// code; on the host it is the slow twin that the vector code equals bit for bit.
#pragma once

#include <math.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ops/math/host_device.h"
#include "ops/math/integer.h"
#include "ops/math/large_angle.h"

namespace mt::scalar {

#pragma push_macro("MT_MATH")
#undef MT_MATH
#define MT_MATH MT_HOST_DEVICE inline

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// What the fragments need to know of V: its width, and the unsigned integer that holds its bits.
template <class V>
constexpr bool is_single = std::is_same_v<V, float>;
template <class V>
using Bits = std::conditional_t<is_single<V>, uint32_t, uint64_t>;

MT_MATH uint32_t bits(float x) {
  uint32_t pattern;
  memcpy(&pattern, &x, 4);
  return pattern;
}
MT_MATH uint64_t bits(double x) {
  uint64_t pattern;
  memcpy(&pattern, &x, 8);
  return pattern;
}
template <class V>
MT_MATH V from_bits(Bits<V> pattern) {
  V x;
  memcpy(&x, &pattern, sizeof(V));
  return x;
}
template <int count, class B>
MT_MATH B shift_left(B pattern) {
  return pattern << count;
}
template <int count, class B>
MT_MATH B shift_right(B pattern) {
  return pattern >> count;
}
template <class V>
MT_MATH bool is_odd(Bits<V> pattern) {
  return pattern & 1;
}
MT_MATH bool any(bool mask) { return mask; }
MT_MATH bool all(bool mask) { return mask; }

template <class V>
MT_MATH V select(bool mask, V yes, V no) {
  return mask ? yes : no;
}
// NaN if either is; b where they are equal.
template <class V>
MT_MATH V max(V a, V b) {
  return a > b || !(a == a) ? a : b;
}
template <class V>
MT_MATH V min(V a, V b) {
  return a < b || !(a == a) ? a : b;
}
// x, but no more than `high` or no less than `low`; NaN stays NaN.
template <class V>
MT_MATH V at_most(V x, V high) {
  return high < x ? high : x;
}
template <class V>
MT_MATH V at_least(V x, V low) {
  return low > x ? low : x;
}

MT_MATH float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
MT_MATH float sqrt(float x) { return ::sqrtf(x); }
MT_MATH float abs(float x) { return ::fabsf(x); }
MT_MATH float floor(float x) { return ::floorf(x); }
MT_MATH float ceil(float x) { return ::ceilf(x); }
MT_MATH float trunc(float x) { return ::truncf(x); }
MT_MATH float round_even(float x) { return ::rintf(x); }
MT_MATH float copysign(float x, float y) { return ::copysignf(x, y); }
MT_MATH float exact_remainder(float a, float b) { return ::fmodf(a, b); }
MT_MATH double fma(double a, double b, double c) { return ::fma(a, b, c); }
MT_MATH double sqrt(double x) { return ::sqrt(x); }
MT_MATH double abs(double x) { return ::fabs(x); }
MT_MATH double floor(double x) { return ::floor(x); }
MT_MATH double ceil(double x) { return ::ceil(x); }
MT_MATH double trunc(double x) { return ::trunc(x); }
MT_MATH double round_even(double x) { return ::rint(x); }
MT_MATH double copysign(double x, double y) { return ::copysign(x, y); }
MT_MATH double exact_remainder(double a, double b) { return ::fmod(a, b); }

// f(a, b) for the rare lanes of `mask`, `otherwise` elsewhere.
template <class F, class V>
MT_MATH V map_lanes(bool mask, V otherwise, F f, V a, V b) {
  return mask ? f(a, b) : otherwise;
}
template <class F, class... Floats>
MT_MATH float through_double(F f, Floats... x) {
  return static_cast<float>(f(static_cast<double>(x)...));
}

template <class V>
MT_MATH V only_where(bool mask, V x) {
  return mask ? x : V(0);
}
template <class V>
MT_MATH V scale_in_two(V x, Bits<V> biased);
// x * 2^k for an integer k, rounded once. The low bits of `biased` hold k and twice the bias.
template <class V>
MT_MATH V scale(V x, V, Bits<V> biased) {
  return scale_in_two(x, biased);
}
// The same, or zero.
template <class V>
MT_MATH V scale_where(bool mask, V x, V k, Bits<V> biased) {
  return only_where(mask, scale(x, k, biased));
}
// Whether that takes no longer where the mask is not set, whatever x and k are there.
template <class V>
constexpr bool skips_lanes = false;
template <class V>
MT_MATH bool not_less(V a, V b) {
  return !(a < b);
}

// table[k % 16]. A GPU would do so one thread after the other.
#ifdef __CUDA_ARCH__
constexpr bool looks_up = false;
#else
constexpr bool looks_up = true;
#endif
MT_MATH float look_up(const float (&table)[16], uint32_t k) { return table[k & 15]; }
// Whether it takes less time where k % 16 < 8.
constexpr bool looks_up_by_halves = false;
MT_MATH float look_up_first_half(const float (&table)[16], uint32_t k) { return table[k & 7]; }

#include "ops/math/functions.h"

// An integer whose operators wrap.
template <class T>
struct Integer {
  T value;
  Integer() = default;
  template <class N>
  MT_HOST_DEVICE explicit Integer(N n) : value(static_cast<T>(n)) {}
};
#define MT_INTEGER_BINARY(result, name, expression) \
  template <class T>                                \
  MT_MATH result name(Integer<T> x, Integer<T> y) { \
    T a = x.value, b = y.value;                     \
    return result(expression);                      \
  }
MT_INTEGER_BINARY(Integer<T>, operator+, integer::add(a, b))
MT_INTEGER_BINARY(Integer<T>, operator-, integer::subtract(a, b))
MT_INTEGER_BINARY(Integer<T>, operator*, integer::multiply(a, b))
MT_INTEGER_BINARY(Integer<T>, operator&, a& b)
MT_INTEGER_BINARY(Integer<T>, operator|, a | b)
MT_INTEGER_BINARY(Integer<T>, operator^, a ^ b)
MT_INTEGER_BINARY(bool, operator==, a == b)
MT_INTEGER_BINARY(bool, operator!=, a != b)
MT_INTEGER_BINARY(bool, operator<, a < b)
MT_INTEGER_BINARY(bool, operator<=, a <= b)
MT_INTEGER_BINARY(bool, operator>, a > b)
MT_INTEGER_BINARY(bool, operator>=, a >= b)
MT_INTEGER_BINARY(Integer<T>, max, a > b ? a : b)
MT_INTEGER_BINARY(Integer<T>, min, a < b ? a : b)
MT_INTEGER_BINARY(Integer<T>, pow, integer::pow(a, b))
MT_INTEGER_BINARY(Integer<T>, floor_divide, integer::floor_divide(a, b))
MT_INTEGER_BINARY(Integer<T>, remainder, integer::remainder(a, b))
MT_INTEGER_BINARY(Integer<T>, shift_left, integer::shift_left(a, b))
MT_INTEGER_BINARY(Integer<T>, shift_right, integer::shift_right(a, b))
#undef MT_INTEGER_BINARY
#define MT_INTEGER_UNARY(name, expression) \
  template <class T>                       \
  MT_MATH Integer<T> name(Integer<T> x) {  \
    T a = x.value;                         \
    return Integer<T>(expression);         \
  }
MT_INTEGER_UNARY(operator-, integer::subtract(T{0}, a))
MT_INTEGER_UNARY(operator~, ~a)
MT_INTEGER_UNARY(abs, a < 0 ? integer::subtract(T{0}, a) : a)
MT_INTEGER_UNARY(sign, a > 0 ? 1 : a < 0 ? -1 : 0)
MT_INTEGER_UNARY(floor, a)
MT_INTEGER_UNARY(ceil, a)
MT_INTEGER_UNARY(trunc, a)
MT_INTEGER_UNARY(round_even, a)
#undef MT_INTEGER_UNARY

#pragma pop_macro("MT_MATH")

}  // namespace mt::scalar
