// SPDX-License-Identifier: Apache-2.0
// The kernel of same_windows.h for windows of 3 x 3, which reads images where they lie.
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

// Positions [first, end) of an image, the first of which goes to `lane`; y has the factor of each.
// to_next_y: how far away the next image's y is, which hardware does not foresee.
struct SamePositions {
  const float *image, *y;
  int64_t to_next_y;
  int64_t first, end, lane;
};

// Leaving out lanes takes loads that the hardware masks.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
constexpr bool has_same_windows = true;

// Where elements `offset` behind `data` would lie, even if that is outside of the array, which
// pointer arithmetic may not leave.
HWY_INLINE const float* address(const float* data, int64_t offset) {
  return reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(data) +
                                        static_cast<uintptr_t>(offset) * sizeof(float));
}

// Continues sums[place in a window][lane] over the positions, for 3 x 3 windows over an image that
// is read in place. Fetches as much of the next image and of its y, which hardware does not
// foresee. Registers hold the sums of one vector of the lanes.
inline void add_windows_in_place(const SameWindows& how, const SamePositions& over, float* sums) {
  constexpr int64_t side = 3, step = SameWindows::lanes;
  const auto [image, y, to_next_y, first, end, lane] = over;
  const int64_t to_above = -how.lines[0].shift, to_left = -how.columns[0].shift;
  const Vectors<float> d;
  constexpr int64_t lanes = lanes_of<float>;
  const int64_t width = how.width, size = how.size();
  for (int64_t v = 0; v < step; v += lanes) {
    hn::Vec<Vectors<float>> sum[side][side];
    MT_UNROLL for (int i = 0; i < side; ++i) {
      MT_UNROLL for (int j = 0; j < side; ++j) sum[i][j] =
          hn::LoadU(d, sums + (i * 3 + j) * step + v);
    }
    int64_t column = ((first - lane) % width + width) % width;  // of the vector's first position
    for (int64_t at = first - lane + v; at < end; at += step) {
      if (v == 0) {
        __builtin_prefetch(address(image, how.image + at), 0, 2);
        __builtin_prefetch(address(y, to_next_y + at), 0, 2);
      }
      const auto among = [&](int64_t from, int64_t to) HWY_ATTR {  // lanes of positions up to `to`
        const int64_t before = std::clamp<int64_t>(from, 0, lanes);
        const int64_t last = std::clamp<int64_t>(to, before, lanes);
        return hn::AndNot(hn::FirstN(d, before), hn::FirstN(d, last));
      };
      const uint16_t* const inside = how.inside.data() + column * side;
      hn::Mask<Vectors<float>> columns[side];
      MT_UNROLL for (int j = 0; j < side; ++j) {
        columns[j] = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(inside + j) + v / 8);
      }
      const int64_t above = at - to_above * width, below = above + (side - 1) * width;
      const bool whole = at >= first && at + lanes <= end;
      const auto load = [&](hn::Mask<Vectors<float>> mask, int i, int j) HWY_ATTR {
        return hn::MaskedLoad(mask, d, address(image, above + i * width - to_left + j));
      };
      if (whole && above >= 0 && below + lanes <= size) {
        const auto dy = hn::LoadU(d, y + at);
        MT_UNROLL for (int i = 0; i < side; ++i) {
          MT_UNROLL for (int j = 0; j < side; ++j) sum[i][j] =
              fused(d, load(columns[j], i, j), dy, sum[i][j]);
        }
      } else {
        const auto there = among(first - at, end - at);
        const auto dy = hn::MaskedLoad(there, d, address(y, at));
        MT_UNROLL for (int i = 0; i < side; ++i) {
          // Lanes whose line is one of the image's.
          const int64_t from = above + i * width;
          const auto lines = hn::And(there, among(-from, size - from));
          MT_UNROLL for (int j = 0; j < side; ++j) {
            const auto x = load(hn::And(lines, columns[j]), i, j);
            sum[i][j] = hn::IfThenElse(there, fused(d, x, dy, sum[i][j]), sum[i][j]);
          }
        }
      }
      column += step;
      while (column >= width) column -= width;
    }
    MT_UNROLL for (int i = 0; i < side; ++i) {
      MT_UNROLL for (int j = 0; j < side; ++j)
          hn::StoreU(sum[i][j], d, sums + (i * 3 + j) * step + v);
    }
  }
}

#else

constexpr bool has_same_windows = false;

#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
