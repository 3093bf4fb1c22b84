// SPDX-License-Identifier: Apache-2.0
// Packs the selected lanes of a vector next to each other within a register. Highway's Compress()
// has tables that gcc copies each time, and compressing straight into memory takes Zen 4 more than
// a hundred cycles.
#if defined(MT_COMPRESS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_COMPRESS_INL_H
#undef MT_COMPRESS_INL_H
#else
#define MT_COMPRESS_INL_H
#endif

#include <array>

#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Whether compress() is one instruction.
constexpr bool compresses_at_once = HWY_TARGET == HWY_AVX3;

#if HWY_TARGET == HWY_AVX3
// For lanes of four or eight bytes.
template <class D, class V, class M>
HWY_INLINE V compress(D, V v, M which) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> d;
  const auto bits = hn::BitCast(d, v);
  using Bits = decltype(bits);
  if constexpr (sizeof(T) == 4) {
    return hn::BitCast(D(), Bits{_mm512_maskz_compress_epi32(which.raw, bits.raw)});
  } else {
    return hn::BitCast(D(), Bits{_mm512_maskz_compress_epi64(which.raw, bits.raw)});
  }
}
#elif HWY_TARGET == HWY_AVX2
// For each selection of eight lanes its indices, then zeros: four bits each, lowest first.
constexpr auto chosen_lanes = [] {
  std::array<uint32_t, 256> indices{};
  for (uint32_t choice = 0; choice < 256; ++choice) {
    for (uint32_t lane = 0, at = 0; lane < 8; ++lane) {
      if (choice >> lane & 1) indices[choice] |= lane << 4 * at++;
    }
  }
  return indices;
}();

// An eight-byte lane counts as two of four bytes.
template <class D, class V, class M>
HWY_INLINE V compress(D d, V v, M which) {
  const hn::Repartition<uint32_t, D> lanes;
  const auto chosen = hn::BitCast(lanes, hn::VecFromMask(d, which));
  const int choice = _mm256_movemask_ps(_mm256_castsi256_ps(chosen.raw));
  const auto packed = hn::Set(lanes, chosen_lanes[static_cast<size_t>(choice)]);
  const __m256i indices =
      _mm256_srlv_epi32(packed.raw, hn::Mul(hn::Iota(lanes, 0), hn::Set(lanes, 4)).raw);
  const auto bits = hn::BitCast(lanes, v);
  return hn::BitCast(d, decltype(bits){_mm256_permutevar8x32_epi32(bits.raw, indices)});
}
#endif

// Writes a whole vector, the selected lanes first; returns how many are selected.
template <class D, class V, class M, class T = hn::TFromD<D>>
HWY_INLINE int64_t compress_store(D d, V v, M which, T* to) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if constexpr (sizeof(T) >= 4) {
    hn::StoreU(compress(d, v, which), d, to);
    return static_cast<int64_t>(hn::CountTrue(d, which));
  }
#endif
#if HWY_TARGET == HWY_AVX2
  if constexpr (std::is_same_v<T, uint16_t>) {  // by halves, as lanes of four bytes
    const hn::Half<D> half;
    const hn::Rebind<int32_t, decltype(half)> wide;
    const auto store_half = [&](auto numbers, auto chosen, T* at) HWY_ATTR {
      const auto mask = hn::Ne(hn::PromoteTo(wide, chosen), hn::Zero(wide));
      const auto together = compress(wide, hn::PromoteTo(wide, numbers), mask);
      hn::StoreU(hn::DemoteTo(half, together), half, at);
      return static_cast<int64_t>(hn::CountTrue(wide, mask));
    };
    const V chosen = hn::VecFromMask(d, which);
    const int64_t low = store_half(hn::LowerHalf(half, v), hn::LowerHalf(half, chosen), to);
    return low + store_half(hn::UpperHalf(half, v), hn::UpperHalf(half, chosen), to + low);
  }
#endif
  return static_cast<int64_t>(hn::CompressStore(v, which, d, to));
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
