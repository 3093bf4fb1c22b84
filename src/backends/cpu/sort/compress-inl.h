// SPDX-License-Identifier: Apache-2.0
// The chosen lanes of a vector next to each other, put together in a register: compressing straight
// into memory takes Zen 4 more than a hundred cycles, and saves none elsewhere.
#if defined(MT_SORT_COMPRESS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_SORT_COMPRESS_INL_H
#undef MT_SORT_COMPRESS_INL_H
#else
#define MT_SORT_COMPRESS_INL_H
#endif

#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
// Not Highway's Compress(), which has a table for 64 bits that gcc copies.
template <class D, class V, class M>
HWY_INLINE V compress([[maybe_unused]] D d, V v, M which) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) return V{_mm512_maskz_compress_epi32(which.raw, v.raw)};
  if constexpr (sizeof(hn::TFromD<D>) == 8) return V{_mm512_maskz_compress_epi64(which.raw, v.raw)};
}
#endif

// Writes a whole vector, the chosen lanes first; returns how many these are.
template <class D, class V, class M, class T = hn::TFromD<D>>
HWY_INLINE int64_t compress_store(D d, V v, M which, T* to) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) >= 4) {
    hn::StoreU(compress(d, v, which), d, to);
    return static_cast<int64_t>(hn::CountTrue(d, which));
  }
#endif
  return static_cast<int64_t>(hn::CompressStore(v, which, d, to));
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
