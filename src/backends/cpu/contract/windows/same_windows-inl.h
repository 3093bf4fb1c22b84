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

// To leave out lanes takes loads that the hardware masks.
constexpr bool has_same_windows = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

// Elements that lie `offset` behind `data`, though perhaps outside of what a pointer into that can
// reach.
HWY_INLINE const float* address(const float* data, int64_t offset) {
  return reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(data) +
                                        static_cast<uintptr_t>(offset) * sizeof(float));
}

// sums[place in a window][lane] go on over `count` positions of `image` from `first` on, both whole
// steps; y holds what belongs to each position. Fetches as much of the next image, and of its y,
// which hardware does not foresee. Registers hold the sums of one vector of the lanes.
inline void add_same_windows(const SameWindows& how, const float* image, const float* y,
                             int64_t to_next_y, int64_t first, int64_t count, float* sums) {
  constexpr int64_t side = SameWindows::side, step = SameWindows::lanes;
  const Vectors<float> d;
  constexpr int64_t lanes = lanes_of<float>;
  const int64_t width = how.width, size = how.size();
  const uint16_t* const begin = how.inside.data();
  const uint16_t* const end = begin + how.masks();
  for (int64_t v = 0; v < step; v += lanes) {
    const uint16_t* inside = begin + first / step * side % how.masks();
    hn::Vec<Vectors<float>> sum[side][side];
    MT_UNROLL for (int i = 0; i < side; ++i) {
      MT_UNROLL for (int j = 0; j < side; ++j) sum[i][j] =
          hn::LoadU(d, sums + (i * 3 + j) * step + v);
    }
    for (int64_t at = first + v; at < first + count; at += step) {
      const auto dy = hn::LoadU(d, y + at);
      if (v == 0) {
        __builtin_prefetch(address(image, how.image + at), 0, 2);
        __builtin_prefetch(address(y, to_next_y + at), 0, 2);
      }
      hn::Mask<Vectors<float>> columns[side];
      MT_UNROLL for (int j = 0; j < side; ++j) {
        columns[j] = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(inside + j) + v / 8);
      }
      const int64_t above = at - how.above * width, below = above + (side - 1) * width;
      const bool all = above >= 0 && below + lanes <= size;
      MT_UNROLL for (int i = 0; i < side; ++i) {
        // Lanes whose line is one of the image's.
        const int64_t from = above + i * width;
        auto lines = columns[0];
        if (!all) {
          const int64_t before = std::clamp<int64_t>(-from, 0, lanes);
          const int64_t last = std::clamp<int64_t>(size - from, before, lanes);
          lines = hn::AndNot(hn::FirstN(d, before), hn::FirstN(d, last));
        }
        MT_UNROLL for (int j = 0; j < side; ++j) {
          const auto mask = all ? columns[j] : hn::And(lines, columns[j]);
          const auto x = hn::MaskedLoad(mask, d, address(image, from - how.left + j));
          sum[i][j] = fused(d, x, dy, sum[i][j]);
        }
      }
      inside += side;
      if (inside == end) inside = begin;
    }
    MT_UNROLL for (int i = 0; i < side; ++i) {
      MT_UNROLL for (int j = 0; j < side; ++j)
          hn::StoreU(sum[i][j], d, sums + (i * 3 + j) * step + v);
    }
  }
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
