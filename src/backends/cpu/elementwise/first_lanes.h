// SPDX-License-Identifier: Apache-2.0
// Loads and stores the first lanes of a vector. Included once for each instruction set.
#include <cstring>

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

// Load and store the first n lanes, without touching memory beyond them. A single number is
// accessed as a scalar, since it is soon read again: a masked store must reach the cache first.
template <class T>
constexpr bool has_masks = HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4);
template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const hn::TFromD<D>* from, size_t n) {
  using T = hn::TFromD<D>;
  if (n == 1) return hn::Set(d, *from);
  if constexpr (has_masks<T>) return hn::MaskedLoad(hn::FirstN(d, n), d, from);
  alignas(HWY_MAX_BYTES) T buffer[HWY_MAX_BYTES / sizeof(T)] = {};
  memcpy(buffer, from, n * sizeof(T));
  return hn::Load(d, buffer);
}
template <class D>
HWY_INLINE void store_first(D d, hn::Vec<D> v, hn::TFromD<D>* to, size_t n) {
  using T = hn::TFromD<D>;
  if (n == 1) {
    *to = hn::GetLane(v);
  } else if constexpr (has_masks<T>) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, to);
  } else {
    alignas(HWY_MAX_BYTES) T buffer[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(v, d, buffer);
    memcpy(to, buffer, n * sizeof(T));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
