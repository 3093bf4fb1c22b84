// SPDX-License-Identifier: Apache-2.0
// The kernels of same_windows.h for windows that move by two, or are larger than 3 x 3: the lines
// that they read are taken from the image first, with zeros for those above and below, so that only
// columns need masks.
#if defined(MT_WINDOWS_TAKEN_WINDOWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_TAKEN_WINDOWS_INL_H
#undef MT_WINDOWS_TAKEN_WINDOWS_INL_H
#else
#define MT_WINDOWS_TAKEN_WINDOWS_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "backends/cpu/contract/windows/same_windows-inl.h"
#include "backends/cpu/contract/windows/same_windows.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

// Copies the lines that windows at lines [begin, end) of positions read to their phases, with zeros
// for lines outside of the image, and fetches the next image. What a vector has beyond its line is
// overwritten by the next line, or left out by masks.
template <int Step>
HWY_NOINLINE void take_lines(const SameWindows& how, const float* image, int64_t begin, int64_t end,
                             float* phases) {
  using Vec = hn::Vec<Vectors<float>>;
  const Vectors<float> d;
  constexpr int64_t lanes = lanes_of<float>;
  const int64_t before = how.lines.front().shift, behind = how.lines.back().shift;
  const int64_t width = how.width, phase = how.phase(), next = how.image;
  const int64_t size = how.image_height * how.image_width;
  const auto take_line = [&](float* to, auto load) HWY_ATTR {
    for (int64_t at = 0; at < width; at += lanes) {
      const Vec first = load(Step * at);
      if constexpr (Step == 1) {
        hn::StoreU(first, d, to + at);
      } else {
        const Vec second = load(Step * at + lanes);
        hn::StoreU(hn::ConcatEven(d, second, first), d, to + at);
        hn::StoreU(hn::ConcatOdd(d, second, first), d, to + phase + at);
      }
    }
  };
  float* to = phases + begin * width;
  for (int64_t line = begin + before; line < end + behind; ++line, to += width) {
    for (int i = 0; i < Step; ++i) {
      float* const there = to + 2 * i * phase;
      const int64_t from = line * Step + i, offset = from * how.image_width;
      const float* elements = address(image, offset);
      if (from < 0 || from >= how.image_height) {
        take_line(there, [&](int64_t) HWY_ATTR { return hn::Zero(d); });
      } else if (offset + Step * (width + lanes) <= size) {
        take_line(there, [&](int64_t at) HWY_ATTR {
          __builtin_prefetch(address(elements, next + at), 0, 2);
          return hn::LoadU(d, elements + at);
        });
      } else {
        take_line(there, [&](int64_t at) HWY_ATTR {
          const auto left = std::clamp<int64_t>(size - offset - at, 0, lanes);
          return hn::MaskedLoad(hn::FirstN(d, left), d, elements + at);
        });
      }
    }
  }
}

// Continues sums[place in a window][lane] over positions, for R lines of a window with C columns,
// from `line` on. Registers hold the sums of one vector of the lanes.
template <int R, int C, int Step>
HWY_NOINLINE void add_taken_windows(const SameWindows& how, const SamePositions& over,
                                    const float* phases, int64_t line, float* sums) {
  constexpr int64_t step = SameWindows::lanes;
  const Vectors<float> d;
  constexpr int64_t lanes = lanes_of<float>;
  const int64_t width = how.width, first = over.first, end = over.end;
  // Where a window's elements lie, relative to a position; its columns alternate between phases.
  const float* elements[R][Step];
  MT_UNROLL for (int i = 0; i < R; ++i) {
    const SameWindows::Place& place = how.lines[static_cast<size_t>(line + i)];
    MT_UNROLL for (int j = 0; j < Step; ++j) {
      const SameWindows::Place& column = how.columns[static_cast<size_t>(j)];
      const int64_t phase = (2 * place.phase + column.phase) * how.phase();
      const int64_t lines = place.shift - how.lines.front().shift;
      elements[i][j] = address(phases, phase + lines * width + column.shift);
    }
  }
  for (int64_t v = 0; v < step; v += lanes) {
    float* const kept = sums + line * C * step + v;
    hn::Vec<Vectors<float>> sum[R][C];
    MT_UNROLL for (int i = 0; i < R; ++i) {
      MT_UNROLL for (int j = 0; j < C; ++j) sum[i][j] = hn::LoadU(d, kept + (i * C + j) * step);
    }
    // The column of the first of 16 positions.
    int64_t column = ((first - over.lane) % width + width) % width;
    for (int64_t at = first - over.lane + v; at < end; at += step) {
      const uint16_t* const inside = how.inside.data() + column * C;
      const auto there = [&](int j) HWY_ATTR {
        return hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(inside + j) + v / 8);
      };
      const auto load = [&](hn::Mask<Vectors<float>> mask, int i, int j) HWY_ATTR {
        return hn::MaskedLoad(mask, d, address(elements[i][j % Step], at + j / Step));
      };
      if (at >= first && at + lanes <= end) {
        __builtin_prefetch(address(over.y, over.to_next_y + at), 0, 2);
        const auto dy = hn::LoadU(d, over.y + at);
        MT_UNROLL for (int i = 0; i < R; ++i) {
          MT_UNROLL for (int j = 0; j < C; ++j) sum[i][j] =
              fused(d, load(there(j), i, j), dy, sum[i][j]);
        }
      } else {
        const int64_t before = std::clamp<int64_t>(first - at, 0, lanes);
        const int64_t last = std::clamp<int64_t>(end - at, before, lanes);
        const auto taken = hn::AndNot(hn::FirstN(d, before), hn::FirstN(d, last));
        const auto dy = hn::MaskedLoad(taken, d, address(over.y, at));
        MT_UNROLL for (int i = 0; i < R; ++i) {
          MT_UNROLL for (int j = 0; j < C; ++j) {
            const auto x = load(hn::And(taken, there(j)), i, j);
            sum[i][j] = hn::IfThenElse(taken, fused(d, x, dy, sum[i][j]), sum[i][j]);
          }
        }
      }
      column += step;
      while (column >= width) column -= width;
    }
    MT_UNROLL for (int i = 0; i < R; ++i) {
      MT_UNROLL for (int j = 0; j < C; ++j) hn::StoreU(sum[i][j], d, kept + (i * C + j) * step);
    }
  }
}

// The same for lines [begin, end) of the window. `phases`: scratch() bytes.
template <int R, int C, int Step>
void add_taken_windows(const SameWindows& how, const SamePositions& over, int64_t begin,
                       int64_t end, float* phases, float* sums) {
  const int64_t first = over.first / how.width, last = (over.end - 1) / how.width;
  take_lines<Step>(how, over.image, first, last + 1, phases);
  for (int64_t line = begin; line < end; line += R) {
    add_taken_windows<R, C, Step>(how, over, phases, line, sums);
  }
}

// The same for at least places [begin, end) of the window.
inline void add_same_windows(const SameWindows& how, const SamePositions& over, int64_t begin,
                             int64_t end, float* phases, float* sums) {
  if (how.in_place()) {
    constexpr int64_t small = 400;  // positions of an image; with AVX2 14 x 14 are, 24 x 24 not
    return how.size() < small ? add_windows_in_place<true>(how, over, sums)
                              : add_windows_in_place<false>(how, over, sums);
  }
  const auto columns = static_cast<int64_t>(how.columns.size());
  const int64_t first = begin / columns, last = (end - 1) / columns + 1;
  switch (columns * how.step) {
    case 6: return add_taken_windows<3, 3, 2>(how, over, 0, 3, phases, sums);
    case 5: return add_taken_windows<1, 5, 1>(how, over, first, last, phases, sums);
    case 10: return add_taken_windows<1, 5, 2>(how, over, first, last, phases, sums);
    default: return add_taken_windows<1, 7, 1>(how, over, first, last, phases, sums);
  }
}

#else

inline void add_same_windows(const SameWindows&, const SamePositions&, int64_t, int64_t, float*,
                             float*) {}

#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
