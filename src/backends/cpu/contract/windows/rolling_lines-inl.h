// SPDX-License-Identifier: Apache-2.0
// Windows of 3 x 3 that slide over the lines of an image, with one row of weights: each line is
// read three times, once for each shift, rather than nine times. Registers hold the sums of the
// three lines of the result that a line of the image belongs to, and are handed on from line to
// line, so that each sum is formed in the order of its terms.
#if defined(MT_WINDOWS_ROLLING_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_ROLLING_LINES_INL_H
#undef MT_WINDOWS_ROLLING_LINES_INL_H
#else
#define MT_WINDOWS_ROLLING_LINES_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "backends/cpu/simd-inl.h"
#include "base/rounding.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

constexpr int rolling_side = 3;
constexpr int rolling_vectors = 4;
// Sixteen registers are too few for the sums and the weights: it is no faster there.
constexpr bool has_rolling_lines = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON;
constexpr int64_t least_rolling = 4;  // lines: there are two more to begin and to end

// How far apart the lines are that the terms of such a window lie in, or 0 if they lie otherwise.
inline int64_t rolling_step(const int64_t* ks, int64_t k) {
  if (!has_rolling_lines || k != rolling_side * rolling_side) return 0;
  const int64_t step = ks[rolling_side] - ks[0];
  for (int64_t i = 0; i < k; ++i) {
    if (ks[i] != ks[0] + i / rolling_side * step + i % rolling_side) return 0;
  }
  return step;
}

// `columns` columns, at most V vectors and more than V - 1, of so many lines of the result; b:
// where the first window begins.
template <class T, int V>
HWY_NOINLINE void rolling_kernel(const T* a, const T* b, int64_t step, int64_t lines,
                                 int64_t columns, T* c, int64_t c_line) {
  const Vectors<T> d;
  constexpr int lanes = lanes_of<T>, side = rolling_side;
  const auto mask = hn::FirstN(d, columns - (V - 1) * lanes);
  const bool whole = columns == V * lanes;
  hn::Vec<Vectors<T>> sum[side][V];
  MT_UNROLL for (int h = 0; h < side; ++h) {
    MT_UNROLL for (int v = 0; v < V; ++v) sum[h][v] = hn::Zero(d);
  }
  for (int64_t line = 1 - side; line < lines; ++line, b += step) {
    MT_UNROLL for (int w = 0; w < side; ++w) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        const T* const at = b + w + v * lanes;
        const bool part = v == V - 1 && (loads_part_at_once || !whole);
        const auto x = part ? load_part(d, mask, at) : hn::LoadU(d, at);
        MT_UNROLL for (int h = 0; h < side; ++h) {
          sum[h][v] = fused(d, hn::Set(d, a[(side - 1 - h) * side + w]), x, sum[h][v]);
        }
      }
    }
    if (line >= 0) {
      MT_UNROLL for (int v = 0; v < V - 1; ++v) hn::StoreU(sum[0][v], d, c + v * lanes);
      T* const last = c + (V - 1) * lanes;
      whole ? hn::StoreU(sum[0][V - 1], d, last) : store_part(sum[0][V - 1], d, mask, last);
      c += c_line;
    }
    MT_UNROLL for (int v = 0; v < V; ++v) {
      MT_UNROLL for (int h = 0; h < side - 1; ++h) sum[h][v] = sum[h + 1][v];
      sum[side - 1][v] = hn::Zero(d);
    }
  }
}

// So many lines of `length` columns, `step` apart in b, which follow each other in c.
template <class T>
void run_rolling_lines(const T* a, const T* b, int64_t step, int64_t lines, int64_t length, T* c) {
  constexpr int64_t lanes = lanes_of<T>;
  const int64_t vectors = divide_up(length, lanes), panels = divide_up(vectors, rolling_vectors);
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t column = vectors * p / panels * lanes;
    const int64_t end = std::min(vectors * (p + 1) / panels * lanes, length);
    const auto roll = [&]<int V>(std::integral_constant<int, V>) {
      rolling_kernel<T, V>(a, b + column, step, lines, end - column, c + column, length);
    };
    switch (divide_up(end - column, lanes)) {
      case 1: roll(std::integral_constant<int, 1>()); break;
      case 2: roll(std::integral_constant<int, 2>()); break;
      case 3: roll(std::integral_constant<int, 3>()); break;
      default: roll(std::integral_constant<int, 4>());
    }
  }
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
