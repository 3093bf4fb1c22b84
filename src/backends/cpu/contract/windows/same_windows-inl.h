// SPDX-License-Identifier: Apache-2.0
// The kernel of same_windows.h.
#if defined(MT_WINDOWS_SAME_WINDOWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_SAME_WINDOWS_INL_H
#undef MT_WINDOWS_SAME_WINDOWS_INL_H
#else
#define MT_WINDOWS_SAME_WINDOWS_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "backends/cpu/contract/windows/same_windows.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
// sums[place in a window][lane] go on over `count` positions of `image` from `first` on, both whole
// steps; y holds what belongs to each position. Fetches as much of the next image, and of its y,
// which hardware does not foresee. Addresses are numbers, because those of lanes that are masked
// out may lie outside of what a pointer into the image can reach, and so may those that are
// fetched.
inline void add_same_windows(const SameWindows& how, const float* image, const float* y,
                             int64_t to_next_y, int64_t first, int64_t count, float* sums) {
  constexpr int64_t side = SameWindows::side, lanes = SameWindows::lanes;
  const int64_t width = how.width, size = how.size();
  const uint16_t *inside = how.inside.data(), *const inside_end = inside + how.inside.size();
  inside += first / lanes * side % static_cast<int64_t>(how.inside.size());
  __m512 sum[side][side];
  MT_UNROLL for (int i = 0; i < side; ++i) {
    MT_UNROLL for (int j = 0; j < side; ++j) sum[i][j] = _mm512_loadu_ps(sums + (i * 3 + j) * 16);
  }
  auto address = [](const float* data, int64_t offset) {
    return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(data) +
                                         static_cast<uintptr_t>(offset) * sizeof(float));
  };
  for (int64_t at = first; at < first + count; at += lanes) {
    const __m512 dy = _mm512_loadu_ps(y + at);
    __builtin_prefetch(address(image, how.image + at), 0, 2);
    __builtin_prefetch(address(y, to_next_y + at), 0, 2);
    MT_UNROLL for (int i = 0; i < side; ++i) {
      // Lanes whose line is one of the image's.
      const int64_t from = at + (i - how.above) * width;
      const int64_t begin = std::clamp<int64_t>(-from, 0, lanes);
      const int64_t end = std::clamp<int64_t>(size - from, 0, lanes);
      const unsigned lines = (1u << end) - (1u << std::min(begin, end));
      MT_UNROLL for (int j = 0; j < side; ++j) {
        const auto mask = static_cast<__mmask16>(lines & inside[j]);
        const __m512 x = _mm512_maskz_loadu_ps(mask, address(image, from - how.left + j));
        sum[i][j] = _mm512_fmadd_ps(x, dy, sum[i][j]);
      }
    }
    inside += side;
    if (inside == inside_end) inside = how.inside.data();
  }
  MT_UNROLL for (int i = 0; i < side; ++i) {
    MT_UNROLL for (int j = 0; j < side; ++j) _mm512_storeu_ps(sums + (i * 3 + j) * 16, sum[i][j]);
  }
}
#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
