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

using SameMask = hn::Mask<Vectors<float>>;

// The lanes of positions from `from` up to `to`; 0 is the first lane.
HWY_INLINE SameMask lanes_among(int64_t from, int64_t to) {
  const Vectors<float> d;
  constexpr int64_t lanes = lanes_of<float>;
  const int64_t before = std::clamp<int64_t>(from, 0, lanes);
  const int64_t last = std::clamp<int64_t>(to, before, lanes);
  return hn::AndNot(hn::FirstN(d, before), hn::FirstN(d, last));
}

using SameSums = hn::Vec<Vectors<float>>[3][3];

// Adds a vector of positions from `at` on, some of which, or of whose windows' lines, may not be
// there; `columns`: the lanes whose element each column has.
HWY_INLINE void add_some_windows(const SameWindows& how, const SamePositions& over, int64_t at,
                                 const SameMask (&columns)[3], SameSums& sum) {
  const Vectors<float> d;
  const int64_t width = how.width, size = how.size();
  const SameMask there = lanes_among(over.first - at, over.end - at);
  const auto dy = hn::MaskedLoad(there, d, address(over.y, at));
  MT_UNROLL for (int i = 0; i < 3; ++i) {
    // Lanes whose line is one of the image's.
    const int64_t from = at + (how.lines[0].shift + i) * width;
    const SameMask lines = hn::And(there, lanes_among(-from, size - from));
    const float* const x = address(over.image, from + how.columns[0].shift);
    MT_UNROLL for (int j = 0; j < 3; ++j) {
      const auto some = hn::MaskedLoad(hn::And(lines, columns[j]), d, address(x, j));
      sum[i][j] = hn::IfThenElse(there, fused(d, some, dy, sum[i][j]), sum[i][j]);
    }
  }
}
// A function of its own, so that its masks take no registers from the sums of all other vectors.
HWY_NOINLINE void add_windows_at_edge(const SameWindows& how, const SamePositions& over, int64_t at,
                                      const SameMask (&columns)[3], SameSums& sum) {
  add_some_windows(how, over, at, columns, sum);
}

// Continues sums[place in a window][lane] over the positions, for 3 x 3 windows over an image that
// is read in place. Fetches as much of the next image and of its y, which hardware does not
// foresee. Registers hold the sums of one vector of the lanes. `small`: most vectors are at edges.
template <bool small>
HWY_INLINE void add_windows_in_place(const SameWindows& how, const SamePositions& over,
                                     float* sums) {
  constexpr int64_t side = 3, step = SameWindows::lanes;
  const auto [image, y, to_next_y, first, end, lane] = over;
  const Vectors<float> d;
  constexpr int64_t lanes = lanes_of<float>;
  const int64_t width = how.width, size = how.size();
  const int64_t to_above = how.lines[0].shift * width, to_left = how.columns[0].shift;
  for (int64_t v = 0; v < step; v += lanes) {
    SameSums sum;
    MT_UNROLL for (int i = 0; i < side; ++i) {
      MT_UNROLL for (int j = 0; j < side; ++j) sum[i][j] =
          hn::LoadU(d, sums + (i * 3 + j) * step + v);
    }
    int64_t column = ((first - lane) % width + width) % width;  // of the 16 lanes' first position
    for (int64_t at = first - lane + v; at < end; at += step) {
      if (v == 0) __builtin_prefetch(address(image, how.image + at), 0, 2);
      if (v + lanes == step) __builtin_prefetch(address(y, to_next_y + at - v), 0, 2);
      const int64_t above = at + to_above, below = above + (side - 1) * width;
      const auto element = [&](int i, int j)
                               HWY_ATTR { return address(image, above + i * width + to_left + j); };
      const uint16_t* const inside = how.inside.data() + column * side;
      const bool whole = at >= first && at + lanes <= end && above >= 0 && below + lanes <= size;
      // Masks cost nothing with AVX-512.
      if (!small && lanes < step && whole &&
          (~((inside[0] & inside[1] & inside[2]) >> v) & ((1 << lanes) - 1)) == 0) {
        const auto dy = hn::LoadU(d, y + at);
        MT_UNROLL for (int i = 0; i < side; ++i) {
          MT_UNROLL for (int j = 0; j < side; ++j) sum[i][j] =
              fused(d, hn::LoadU(d, element(i, j)), dy, sum[i][j]);
        }
      } else {
        SameMask columns[side];
        MT_UNROLL for (int j = 0; j < side; ++j) {
          columns[j] = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(inside + j) + v / 8);
        }
        if (whole) {
          const auto dy = hn::LoadU(d, y + at);
          MT_UNROLL for (int i = 0; i < side; ++i) {
            MT_UNROLL for (int j = 0; j < side; ++j) sum[i][j] =
                fused(d, hn::MaskedLoad(columns[j], d, element(i, j)), dy, sum[i][j]);
          }
        } else if (small) {
          add_some_windows(how, over, at, columns, sum);
        } else {
          SameMask edge[side];  // copies, as what is passed by reference lies in memory
          SameSums copy;
          MT_UNROLL for (int i = 0; i < side; ++i) {
            edge[i] = columns[i];
            MT_UNROLL for (int j = 0; j < side; ++j) copy[i][j] = sum[i][j];
          }
          add_windows_at_edge(how, over, at, edge, copy);
          MT_UNROLL for (int i = 0; i < side; ++i) {
            MT_UNROLL for (int j = 0; j < side; ++j) sum[i][j] = copy[i][j];
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
