// SPDX-License-Identifier: Apache-2.0
// Vector<T>: a Highway vector with operators, selection and comparison. Included once for each
// instruction set.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"

#if defined(MT_CPU_VECTOR_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_VECTOR_H
#undef MT_CPU_VECTOR_H
#else
#define MT_CPU_VECTOR_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef MT_MATH
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define MT_MATH inline  // small rather than fast
#else
#define MT_MATH HWY_INLINE
#endif

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Highway's plain C++ targets, some of whose functions round or saturate in their own way.
constexpr bool is_baseline = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr size_t lane_count = HWY_LANES(T);

// Calls f(i) for each whole vector of `lanes` out of `count` elements, in order, two per turn of
// the loop, which else takes as long as what f does; returns where the remainder begins.
template <size_t lanes, class F>
HWY_INLINE size_t by_vectors(size_t count, F f) {
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    f(i);
    f(i + lanes);
  }
  if (i + lanes <= count) {
    f(i);
    i += lanes;
  }
  return i;
}

template <class T>
struct Mask {
  hn::Mask<Tag<T>> raw;
};

template <class T>
struct Vector {
  using Lane = T;
  using Raw = hn::Vec<Tag<T>>;
  Raw raw;
  Vector() = default;
  HWY_INLINE explicit Vector(Raw r) : raw(r) {}
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
  HWY_INLINE explicit Vector(N n) : raw(hn::Set(Tag<T>(), static_cast<T>(n))) {}
};

#define MT_OPERATOR(op)                                        \
  template <class T>                                           \
  HWY_INLINE Vector<T> operator op(Vector<T> a, Vector<T> b) { \
    return Vector<T>(a.raw op b.raw);                          \
  }
MT_OPERATOR(+)
MT_OPERATOR(-)
MT_OPERATOR(/)
#undef MT_OPERATOR
// Bytes have no products of their own: even and odd bytes are multiplied as 16-bit numbers.
template <class T>
HWY_INLINE Vector<T> operator*(Vector<T> a, Vector<T> b) {
  if constexpr (sizeof(T) == 1 && !is_baseline) {
    constexpr Tag<T> d;
    constexpr hn::Repartition<uint16_t, Tag<T>> wide;
    const auto x = hn::BitCast(wide, a.raw), y = hn::BitCast(wide, b.raw);
    const auto odd = hn::Mul(hn::ShiftRight<8>(x), hn::ShiftRight<8>(y));
    const auto even = hn::And(hn::Mul(x, y), hn::Set(wide, 0xff));
    return Vector<T>(hn::BitCast(d, hn::Or(hn::ShiftLeft<8>(odd), even)));
  } else {
    return Vector<T>(a.raw * b.raw);
  }
}
#define MT_BITWISE(op, function)                               \
  template <class T>                                           \
  HWY_INLINE Vector<T> operator op(Vector<T> a, Vector<T> b) { \
    return Vector<T>(hn::function(a.raw, b.raw));              \
  }                                                            \
  template <class T>                                           \
  HWY_INLINE Mask<T> operator op(Mask<T> a, Mask<T> b) {       \
    return {hn::function(a.raw, b.raw)};                       \
  }
MT_BITWISE(&, And)
MT_BITWISE(|, Or)
MT_BITWISE(^, Xor)
#undef MT_BITWISE
#define MT_COMPARISON(op)                                    \
  template <class T>                                         \
  HWY_INLINE Mask<T> operator op(Vector<T> a, Vector<T> b) { \
    return {a.raw op b.raw};                                 \
  }
// clang-format off: it takes these for template arguments
MT_COMPARISON(==)
MT_COMPARISON(<)
MT_COMPARISON(>)
// clang-format on
#undef MT_COMPARISON
template <class T>
HWY_INLINE Mask<T> operator!(Mask<T> mask) {
  return {hn::Not(mask.raw)};
}
template <class T>
HWY_INLINE Mask<T> operator<=(Vector<T> a, Vector<T> b) {
  if constexpr (std::is_floating_point_v<T>) {
    return {a.raw <= b.raw};
  } else {
    return !(a > b);
  }
}
template <class T>
HWY_INLINE Mask<T> operator>=(Vector<T> a, Vector<T> b) {
  return b <= a;
}
// Highway's own != is false for NaN.
template <class T>
HWY_INLINE Mask<T> operator!=(Vector<T> a, Vector<T> b) {
  return !(a == b);
}
template <class T>
HWY_INLINE Mask<T> operator!=(Mask<T> a, Mask<T> b) {
  return a ^ b;
}
template <class T>
HWY_INLINE Mask<T> operator==(Mask<T> a, Mask<T> b) {
  return !(a ^ b);
}
template <class T>
HWY_INLINE Vector<T> operator-(Vector<T> x) {
  if constexpr (std::is_floating_point_v<T>) {
    return Vector<T>(hn::Xor(x.raw, hn::SignBit(Tag<T>())));
  } else {
    return Vector<T>(0) - x;
  }
}
template <class T>
HWY_INLINE Vector<T> operator~(Vector<T> x) {
  return Vector<T>(hn::Not(x.raw));
}

template <class T>
HWY_INLINE Vector<T> select(Mask<T> mask, Vector<T> yes, Vector<T> no) {
  return Vector<T>(hn::IfThenElse(mask.raw, yes.raw, no.raw));
}
// The same with zeros for `no`, which is cheaper.
template <class T>
HWY_INLINE Vector<T> only_where(Mask<T> mask, Vector<T> yes) {
  return Vector<T>(hn::IfThenElseZero(mask.raw, yes.raw));
}
template <class T>
HWY_INLINE bool any(Mask<T> mask) {
  return !hn::AllFalse(Tag<T>(), mask.raw);
}
template <class T>
HWY_INLINE bool all(Mask<T> mask) {
  return hn::AllTrue(Tag<T>(), mask.raw);
}
// a > b ? a : b, which on x86 is one instruction.
template <class Raw>
HWY_INLINE Raw ordered_max(Raw a, Raw b) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Max(a, b);
#else
  return hn::IfThenElse(a > b, a, b);
#endif
}
template <class Raw>
HWY_INLINE Raw ordered_min(Raw a, Raw b) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Min(a, b);
#else
  return hn::IfThenElse(a < b, a, b);
#endif
}
// NaN if either is, b where they are equal.
template <class T>
HWY_INLINE Vector<T> max(Vector<T> a, Vector<T> b) {
  Vector<T> larger(ordered_max(a.raw, b.raw));
  return std::is_floating_point_v<T> ? select(a != a, a, larger) : larger;
}
template <class T>
HWY_INLINE Vector<T> min(Vector<T> a, Vector<T> b) {
  Vector<T> smaller(ordered_min(a.raw, b.raw));
  return std::is_floating_point_v<T> ? select(a != a, a, smaller) : smaller;
}
// x, but no more than `high` or no less than `low`; NaN stays NaN.
template <class T>
HWY_INLINE Vector<T> at_most(Vector<T> x, Vector<T> high) {
  return Vector<T>(ordered_min(high.raw, x.raw));
}
template <class T>
HWY_INLINE Vector<T> at_least(Vector<T> x, Vector<T> low) {
  return Vector<T>(ordered_max(low.raw, x.raw));
}

// Applies f lane by lane, if it has no vector form.
template <class F, class T>
HWY_INLINE Vector<T> each_lane(F f, Vector<T> a, Vector<T> b) {
  alignas(HWY_MAX_BYTES) T x[lane_count<T>], y[lane_count<T>];
  hn::Store(a.raw, Tag<T>(), x);
  hn::Store(b.raw, Tag<T>(), y);
  for (size_t i = 0; i < lane_count<T>; ++i) x[i] = f(x[i], y[i]);
  return Vector<T>(hn::Load(Tag<T>(), x));
}
template <class F, class T>
HWY_NOINLINE Vector<T> map_lanes(Mask<T> mask, Vector<T> otherwise, F f, Vector<T> a, Vector<T> b) {
  alignas(HWY_MAX_BYTES) T x[lane_count<T>], y[lane_count<T>], r[lane_count<T>];
  hn::Store(a.raw, Tag<T>(), x);
  hn::Store(b.raw, Tag<T>(), y);
  hn::Store(select(mask, Vector<T>(1), Vector<T>(0)).raw, Tag<T>(), r);
  for (size_t i = 0; i < lane_count<T>; ++i) r[i] = r[i] != T{0} ? f(x[i], y[i]) : T{0};
  return select(mask, Vector<T>(hn::Load(Tag<T>(), r)), otherwise);
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
