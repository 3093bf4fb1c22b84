// SPDX-License-Identifier: Apache-2.0
// Helpers for files that use Highway's own vectors: loads and stores of part of a vector, and a
// multiply-add that is fused on all instruction sets. Included once for each of them.
#if defined(MT_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_SIMD_INL_H
#undef MT_SIMD_INL_H
#else
#define MT_SIMD_INL_H
#endif

#include <cmath>
#include <type_traits>

#include "base/rounding.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

// For loops over arrays of registers: fully unrolled, since the arrays would be in memory
// otherwise. The baseline keeps them in memory anyway, across the calls that its multiply-adds are.
#undef MT_UNROLL
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define MT_UNROLL HWY_UNROLL(1)
#else
#define MT_UNROLL HWY_UNROLL(32)
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Vectors = hn::ScalableTag<T>;
template <class T>
constexpr int lanes_of = static_cast<int>(hn::MaxLanes(Vectors<T>()));

// Makes the compiler recompute addresses from p instead of keeping them all from an earlier use.
template <class T>
HWY_INLINE void forget(T*& p) {
  asm("" : "+r"(p));
}

// Whether an element of a row begins a line of memory, if the row does.
template <class T>
constexpr bool begins_line(int64_t element) {
  return element * int64_t{sizeof(T)} % cache_line == 0;
}

// x * y + z with one rounding, or wrapping if they are integers.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fused([[maybe_unused]] D d, V x, V y, V z) {
  using T = hn::TFromD<D>;
  if constexpr (std::is_integral_v<T>) {
    return hn::Add(hn::Mul(x, y), z);
  } else {
#if !HWY_NATIVE_FMA
    HWY_ALIGN T xs[hn::MaxLanes(D())], ys[hn::MaxLanes(D())], zs[hn::MaxLanes(D())];
    hn::Store(x, d, xs);
    hn::Store(y, d, ys);
    hn::Store(z, d, zs);
    for (size_t i = 0; i < hn::MaxLanes(d); ++i) zs[i] = std::fma(xs[i], ys[i], zs[i]);
    return hn::Load(d, zs);
#else
    return hn::MulAdd(x, y, z);
#endif
  }
}

// Whether load_part and store_part are as fast as loads and stores of whole vectors.
constexpr bool loads_part_at_once = HWY_TARGET == HWY_AVX3;

// Load and store the first lanes of a vector, those in `mask`, without touching memory beyond them,
// which Highway guarantees only with hardware masks. The other lanes load as zero.
template <class D, class M, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part(D d, M mask, const T* from) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return hn::MaskedLoad(mask, d, from);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(D())] = {};
  const size_t count = hn::CountTrue(d, mask);
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}
template <class D, class M, class T = hn::TFromD<D>>
HWY_INLINE void store_part(hn::Vec<D> x, D d, M mask, T* to) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  hn::BlendedStore(x, mask, d, to);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(D())];
  hn::Store(x, d, lanes);
  const size_t count = hn::CountTrue(d, mask);
  for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
