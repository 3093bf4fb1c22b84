// SPDX-License-Identifier: Apache-2.0
// The first lanes of a vector in memory. Included once for each instruction set.
#include "backends/cpu/elementwise/vector.h"

#if defined(MT_CPU_FIRST_LANES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_FIRST_LANES_H
#undef MT_CPU_FIRST_LANES_H
#else
#define MT_CPU_FIRST_LANES_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// The first n lanes in memory, without touching the rest. A single number goes as
// such, as it is soon read again: what a mask has written must first reach the cache.
template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const hn::TFromD<D>* from, size_t n) {
  if (n == 1) return hn::Set(d, *from);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(hn::TFromD<D>) >= 4) return hn::MaskedLoad(hn::FirstN(d, n), d, from);
#endif
  alignas(HWY_MAX_BYTES) hn::TFromD<D> buffer[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)] = {};
  for (size_t i = 0; i < n; ++i) buffer[i] = from[i];
  return hn::Load(d, buffer);
}
template <class D>
HWY_INLINE void store_first(D d, hn::Vec<D> v, hn::TFromD<D>* to, size_t n) {
  if (n == 1) {
    *to = hn::GetLane(v);
    return;
  }
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(hn::TFromD<D>) >= 4) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, to);
    return;
  }
#endif
  alignas(HWY_MAX_BYTES) hn::TFromD<D> buffer[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  hn::Store(v, d, buffer);
  for (size_t i = 0; i < n; ++i) to[i] = buffer[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
