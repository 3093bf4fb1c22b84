// SPDX-License-Identifier: Apache-2.0
// The functions of vectors that the table of operators and ops/math are written in, and those of
// ops/math. Included once for each instruction set.
#include "backends/cpu/elementwise/vector.h"
#include "ops/math/integer.h"
#include "ops/math/large_angle.h"

#if defined(MT_CPU_VECTOR_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_VECTOR_MATH_H
#undef MT_CPU_VECTOR_MATH_H
#else
#define MT_CPU_VECTOR_MATH_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// Floating point.
template <class V>
constexpr bool is_single = std::is_same_v<typename V::Lane, float>;
template <class V>
using Bits = Vector<std::conditional_t<is_single<V>, uint32_t, uint64_t>>;

template <class T>
HWY_INLINE Bits<Vector<T>> bits(Vector<T> x) {
  return Bits<Vector<T>>(hn::BitCast(Tag<typename Bits<Vector<T>>::Lane>(), x.raw));
}
template <class V>
HWY_INLINE V from_bits(Bits<V> pattern) {
  return V(hn::BitCast(Tag<typename V::Lane>(), pattern.raw));
}
template <int count, class T>
HWY_INLINE Vector<T> shift_left(Vector<T> pattern) {
  return Vector<T>(hn::ShiftLeft<count>(pattern.raw));
}
template <int count, class T>
HWY_INLINE Vector<T> shift_right(Vector<T> pattern) {
  return Vector<T>(hn::ShiftRight<count>(pattern.raw));
}
template <class V>
HWY_INLINE Mask<typename V::Lane> is_odd(Bits<V> pattern) {
  auto mask = hn::TestBit(pattern.raw, Bits<V>(1).raw);
  return {hn::RebindMask(Tag<typename V::Lane>(), mask)};
}

template <class T>
HWY_INLINE Vector<T> fma(Vector<T> a, Vector<T> b, Vector<T> c) {
  if constexpr (is_baseline) {
    alignas(HWY_MAX_BYTES) T x[lane_count<T>], y[lane_count<T>], z[lane_count<T>];
    hn::Store(a.raw, Tag<T>(), x);
    hn::Store(b.raw, Tag<T>(), y);
    hn::Store(c.raw, Tag<T>(), z);
    for (size_t i = 0; i < lane_count<T>; ++i) x[i] = std::fma(x[i], y[i], z[i]);
    return Vector<T>(hn::Load(Tag<T>(), x));
  } else {
    return Vector<T>(hn::MulAdd(a.raw, b.raw, c.raw));
  }
}
template <class T>
HWY_INLINE Vector<T> sqrt(Vector<T> x) {
  return Vector<T>(hn::Sqrt(x.raw));
}
template <class T>
HWY_INLINE Vector<T> copysign(Vector<T> x, Vector<T> y) {
  return Vector<T>(hn::CopySign(x.raw, y.raw));
}
template <class T>
HWY_INLINE Vector<T> abs(Vector<T> x) {
  if constexpr (std::is_floating_point_v<T>) {
    return Vector<T>(hn::Abs(x.raw));
  } else if constexpr (std::is_signed_v<T>) {
    return select(x < Vector<T>(0), -x, x);
  } else {
    return x;
  }
}
// The baselines of Highway lose the sign of zero.
#define MT_ROUNDING(name, function, number_function)                          \
  template <class T>                                                          \
  HWY_INLINE Vector<T> name(Vector<T> x) {                                    \
    if constexpr (std::is_integral_v<T>) {                                    \
      return x;                                                               \
    } else if constexpr (is_baseline) {                                       \
      return each_lane([](T a, T) { return std::number_function(a); }, x, x); \
    } else {                                                                  \
      return Vector<T>(hn::function(x.raw));                                  \
    }                                                                         \
  }
MT_ROUNDING(floor, Floor, floor)
MT_ROUNDING(ceil, Ceil, ceil)
MT_ROUNDING(trunc, Trunc, trunc)
MT_ROUNDING(round_even, Round, rint)
#undef MT_ROUNDING

HWY_INLINE float exact_remainder(float a, float b) { return std::fmod(a, b); }
HWY_INLINE double exact_remainder(double a, double b) { return std::fmod(a, b); }

// Applies f to vectors of doubles, half of the lanes at a time.
template <class F, class... Vectors>
HWY_INLINE Vector<float> through_double(F f, Vectors... x) {
  constexpr Tag<double> wide;
  constexpr Tag<float> d;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  constexpr size_t lanes = lane_count<double>;
  alignas(HWY_MAX_BYTES) float result[lane_count<float>];
  auto promote = [&](Vector<float> v, size_t first) {
    alignas(HWY_MAX_BYTES) float from[lane_count<float>];
    alignas(HWY_MAX_BYTES) double to[lanes];
    hn::Store(v.raw, d, from);
    for (size_t k = 0; k < lanes; ++k) to[k] = from[first + k];
    return Vector<double>(hn::Load(wide, to));
  };
  for (size_t i = 0; i < lane_count<float>; i += lanes) {
    alignas(HWY_MAX_BYTES) double some[lanes];
    hn::Store(f(promote(x, i)...).raw, wide, some);
    for (size_t k = 0; k < lanes; ++k) result[i + k] = static_cast<float>(some[k]);
  }
  return Vector<float>(hn::Load(d, result));
#else
  constexpr hn::Half<Tag<float>> narrow;
  auto promote = [&](auto half) HWY_ATTR { return Vector<double>(hn::PromoteTo(wide, half)); };
  auto low = f(promote(hn::LowerHalf(narrow, x.raw))...);
  auto high = f(promote(hn::UpperHalf(narrow, x.raw))...);
  return Vector<float>(
      hn::Combine(d, hn::DemoteTo(narrow, high.raw), hn::DemoteTo(narrow, low.raw)));
#endif
}

template <class V>
MT_MATH V scale_in_two(V x, Bits<V> biased);
// x * 2^k for an integer k, rounded once. The low bits of `biased` hold k and twice the bias.
template <class V>
HWY_INLINE V scale(V x, [[maybe_unused]] V k, [[maybe_unused]] Bits<V> biased) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (is_single<V>) {
    return V(typename V::Raw{_mm512_scalef_ps(x.raw.raw, k.raw.raw)});
  } else {
    return V(typename V::Raw{_mm512_scalef_pd(x.raw.raw, k.raw.raw)});
  }
#else
  return scale_in_two(x, biased);
#endif
}
// The same where the mask is set, else zero.
template <class V>
HWY_INLINE V scale_where(Mask<typename V::Lane> mask, V x, V k, [[maybe_unused]] Bits<V> biased) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (is_single<V>) {
    return V(typename V::Raw{_mm512_maskz_scalef_ps(mask.raw.raw, x.raw.raw, k.raw.raw)});
  } else {
    return V(typename V::Raw{_mm512_maskz_scalef_pd(mask.raw.raw, x.raw.raw, k.raw.raw)});
  }
#else
  return only_where(mask, scale(x, k, biased));
#endif
}
// Whether scale_where() takes no longer where the mask is not set, whatever x and k are there.
template <class V>
constexpr bool skips_lanes = HWY_TARGET == HWY_AVX3;
template <class T>
HWY_INLINE Mask<T> not_less(Vector<T> a, Vector<T> b) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (is_single<Vector<T>>) {
    return {hn::Mask<Tag<T>>{_mm512_cmp_ps_mask(a.raw.raw, b.raw.raw, _CMP_NLT_UQ)}};
  } else {
    return {hn::Mask<Tag<T>>{_mm512_cmp_pd_mask(a.raw.raw, b.raw.raw, _CMP_NLT_UQ)}};
  }
#elif HWY_TARGET == HWY_AVX2
  if constexpr (is_single<Vector<T>>) {
    return {hn::Mask<Tag<T>>{_mm256_cmp_ps(a.raw.raw, b.raw.raw, _CMP_NLT_UQ)}};
  } else {
    return {hn::Mask<Tag<T>>{_mm256_cmp_pd(a.raw.raw, b.raw.raw, _CMP_NLT_UQ)}};
  }
#else
  return !(a < b);
#endif
}

// table[k % 16]
constexpr bool looks_up = true;
HWY_INLINE Vector<float> look_up(const float (&table)[16], Vector<uint32_t> k) {
  constexpr Tag<float> d;
  [[maybe_unused]] auto load = [&](size_t at) HWY_ATTR { return hn::LoadU(d, table + at); };
#if HWY_TARGET == HWY_AVX3
  return Vector<float>(hn::Vec<Tag<float>>{_mm512_permutexvar_ps(k.raw.raw, load(0).raw)});
#elif HWY_TARGET == HWY_AVX2
  const __m256 low = _mm256_permutevar8x32_ps(load(0).raw, k.raw.raw);
  const __m256 high = _mm256_permutevar8x32_ps(load(8).raw, k.raw.raw);
  const __m256 from_high = _mm256_castsi256_ps(_mm256_slli_epi32(k.raw.raw, 28));
  return Vector<float>(hn::Vec<Tag<float>>{_mm256_blendv_ps(low, high, from_high)});
#else
  constexpr Tag<uint32_t> bits;
  alignas(HWY_MAX_BYTES) float y[lane_count<float>];
  alignas(HWY_MAX_BYTES) uint32_t at[lane_count<float>];
  hn::Store(k.raw, bits, at);
  for (size_t i = 0; i < lane_count<float>; ++i) y[i] = table[at[i] & 15];
  return Vector<float>(hn::Load(d, y));
#endif
}

// The same for k % 16 < 8, and whether that takes less time.
constexpr bool looks_up_by_halves = HWY_TARGET == HWY_AVX2;
HWY_INLINE Vector<float> look_up_first_half(const float (&table)[16], Vector<uint32_t> k) {
#if HWY_TARGET == HWY_AVX2
  const __m256 half = hn::LoadU(Tag<float>(), table).raw;
  return Vector<float>(hn::Vec<Tag<float>>{_mm256_permutevar8x32_ps(half, k.raw.raw)});
#else
  return look_up(table, k);
#endif
}

#include "ops/math/functions.h"

// Integers: what has no vector instruction goes lane by lane.
#define MT_EACH_LANE(name, T)                                                      \
  HWY_INLINE Vector<T> name(Vector<T> a, Vector<T> b) {                            \
    return each_lane([](T x, T y) HWY_ATTR { return integer::name(x, y); }, a, b); \
  }
#define MT_EACH_INTEGER(name) \
  MT_EACH_LANE(name, int32_t) MT_EACH_LANE(name, int64_t) MT_EACH_LANE(name, uint64_t)
MT_EACH_INTEGER(pow)
MT_EACH_INTEGER(shift_left)
MT_EACH_INTEGER(shift_right)
#undef MT_EACH_INTEGER
#undef MT_EACH_LANE
#include "backends/cpu/elementwise/integer_division.h"
HWY_INLINE Vector<uint64_t> sign(Vector<uint64_t> x) {
  return select(x == Vector<uint64_t>(0), x, Vector<uint64_t>(1));
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
