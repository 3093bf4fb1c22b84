// SPDX-License-Identifier: Apache-2.0
// A few rows over short sliding windows, as in the gradient of a first convolution's weight:
// c[row, column] = sum over k of a[row, k] * b[column, k], where columns are the elements of a
// window and k its positions. The lines of a window are shorter than a vector, and the rows too few
// to fill one. So vectors run over the elements of all lines of a window, which strips interleave;
// for the few elements that whole vectors leave over, they run over the rows.
#if defined(MT_WINDOWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_INL_H
#undef MT_WINDOWS_INL_H
#else
#define MT_WINDOWS_INL_H
#endif

#include <algorithm>
#include <utility>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/windows/window_strips-inl.h"
#include "backends/cpu/simd-inl.h"
#include "base/rounding.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
using EightFloats = hn::FixedTag<float, 8>;
static_assert(short_windows.rows <= 8);  // one vector of them
constexpr int most_by_rows = 3;          // columns that are summed by vectors of rows
constexpr int64_t most_window_columns =
    round_up(short_windows.lines * most_window_width, 3 * lanes_of<float>);

// A line of positions: where their windows and a's rows begin.
struct WindowSteps {
  const float* windows;
  int64_t a, count;
};

// The sums of columns from `first` on: whole vectors in sums[row][column], the few columns left
// over in by_rows[column][row].
struct WindowSums {
  int64_t first;
  float (*sums)[most_window_columns];
  float (*by_rows)[8];
};

HWY_INLINE hn::Vec<EightFloats> first_eight(hn::Vec<EightFloats> x) { return x; }
#if HWY_TARGET == HWY_AVX3
HWY_INLINE hn::Vec<EightFloats> first_eight(hn::Vec<Vectors<float>> x) {
  return hn::LowerHalf(EightFloats(), x);
}
#endif

// Continues the sums of V vectors of columns and of B columns beside them over `count` steps.
// Windows are `lines` elements apart.
template <class D, int Rows, int V, int B>
HWY_NOINLINE void windows_kernel(const float* a, const int64_t* row_offsets,
                                 const WindowSteps* steps, int64_t count, int64_t lines,
                                 const WindowSums& to) {
  const D d;
  const EightFloats eight;
  constexpr int64_t lanes = hn::MaxLanes(D());
  hn::Vec<D> sum[Rows][V];
  hn::Vec<EightFloats> by_rows[B + 1];
  const auto at_sum = [&](int i, int v) { return &to.sums[i][to.first + v * lanes]; };
  MT_UNROLL for (int i = 0; i < Rows; ++i) {
    MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = hn::LoadU(d, at_sum(i, v));
  }
  MT_UNROLL for (int b = 0; b < B; ++b) by_rows[b] = hn::Load(eight, to.by_rows[b]);
  for (; count > 0; --count, ++steps) {
    const float* rows[Rows];
    MT_UNROLL for (int i = 0; i < Rows; ++i) rows[i] = a + row_offsets[i] + steps->a;
    const float* window = steps->windows + to.first;
    for (int64_t at = 0; at < steps->count; ++at, window += lines) {
      hn::Vec<D> x[V];
      MT_UNROLL for (int v = 0; v < V; ++v) x[v] = hn::LoadU(d, window + v * lanes);
      auto ys = hn::Zero(eight);
      const auto add_row = [&]<int I>(std::integral_constant<int, I>) HWY_ATTR {
        const auto y = hn::Set(d, rows[I][at]);
        MT_UNROLL for (int v = 0; v < V; ++v) sum[I][v] = fused(d, y, x[v], sum[I][v]);
        if constexpr (B > 0) ys.raw = _mm256_blend_ps(ys.raw, first_eight(y).raw, 1 << I);
      };
      [&]<int... I>(std::integer_sequence<int, I...>) HWY_ATTR {
        (add_row(std::integral_constant<int, I>()), ...);
      }
      (std::make_integer_sequence<int, Rows>());
      MT_UNROLL for (int b = 0; b < B; ++b) {
        by_rows[b] = fused(eight, ys, hn::Set(eight, window[V * lanes + b]), by_rows[b]);
      }
    }
  }
  MT_UNROLL for (int i = 0; i < Rows; ++i) {
    MT_UNROLL for (int v = 0; v < V; ++v) hn::StoreU(sum[i][v], d, at_sum(i, v));
  }
  MT_UNROLL for (int b = 0; b < B; ++b) hn::Store(by_rows[b], eight, to.by_rows[b]);
}

// What a kernel sums at once: `columns` by vectors of columns, then `by_rows` by vectors of rows.
struct WindowPiece {
  decltype(&windows_kernel<EightFloats, 6, 1, 0>) kernel;
  int64_t columns, by_rows;
};

// The next piece of the columns that are left, up to M vectors of them. Beside one vector or three,
// a few columns are summed by rows, as they would leave most of a vector empty.
template <class D, int Rows, int M>
WindowPiece window_piece(int64_t left) {
  constexpr int64_t lanes = hn::MaxLanes(D());
  const int64_t vectors = left / lanes, beside = left % lanes;
  if (vectors > 0 && vectors <= M && beside > 0 && beside <= most_by_rows) {
    const auto with = [&](auto one, auto more) {
      return WindowPiece{beside == 1 ? one : more, vectors * lanes, beside};
    };
    if constexpr (M == 3) {
      if (vectors == M) {
        return with(windows_kernel<D, Rows, M, 1>, windows_kernel<D, Rows, M, most_by_rows>);
      }
    }
    if (vectors == 1) {
      return with(windows_kernel<D, Rows, 1, 1>, windows_kernel<D, Rows, 1, most_by_rows>);
    }
    return {windows_kernel<D, Rows, 1, 0>, lanes, 0};
  }
  if (left <= lanes) return {windows_kernel<D, Rows, 1, 0>, left, 0};
  if constexpr (M == 3) {
    if (left > 2 * lanes) return {windows_kernel<D, Rows, M, 0>, std::min(left, M * lanes), 0};
  }
  return {windows_kernel<D, Rows, 2, 0>, std::min(left, 2 * lanes), 0};
}

// Zen 4, on which a vector of sixteen is multiplied as two of eight are and takes longer to load.
inline bool halves_are_faster() {
  static const bool zen4 = (__builtin_cpu_init(), __builtin_cpu_is("amdfam19h"));
  return zen4;
}

template <int Rows>
WindowPiece window_piece(int64_t left) {
  if constexpr (HWY_TARGET == HWY_AVX3) {
    if (halves_are_faster()) return window_piece<EightFloats, Rows, 3>(left);
  }
  return window_piece<Vectors<float>, Rows, 2>(left);
}

// Computes all rows of a, at most short_windows.rows, over terms [k_begin, k_end); columns are the
// elements of b's windows.
inline void run_windows(const MatrixOperand& a, const float* a_data, const MatrixOperand& b,
                        const float* b_data, int64_t k_begin, int64_t k_end, float* c,
                        int64_t c_row) {
  WindowStrips strips(b, b_data);
  const int64_t rows = a.rows.size, columns = b.rows.size;
  // A kernel may have more rows than a: the last one is repeated.
  constexpr int64_t most_rows = short_windows.rows;
  int64_t row_offsets[most_rows];
  for (int64_t i = 0; i < most_rows; ++i) row_offsets[i] = a.rows.offset(std::min(i, rows - 1));
  HWY_ALIGN float sums[most_rows][most_window_columns];
  HWY_ALIGN float by_rows[most_by_rows][8] = {};
  for (auto& row : sums) std::fill_n(row, round_up(columns, 32), 0.0f);
  const auto for_pieces = [&](auto&& act) {
    for (int64_t first = 0; first < columns;) {
      WindowPiece piece;
      if (most_rows == 6 || rows <= 6) {
        piece = window_piece<6>(columns - first);
      } else {
        piece = window_piece<most_rows>(columns - first);
      }
      act(piece, first);
      first += piece.columns + piece.by_rows;
    }
  };
  WindowSteps steps[most_strips];
  int64_t count = 0;
  const auto run = [&] {
    for_pieces([&](const WindowPiece& piece, int64_t first) {
      piece.kernel(a_data, row_offsets, steps, count, strips.lines(), {first, sums, by_rows});
    });
    count = 0;
  };
  const int64_t line_length = b.k.sizes[b.k.rank - 1], most = strips.most_positions();
  int64_t behind = k_begin % line_length;  // positions of the current line that come before
  // Runs of a are usually longer than those of b.
  a.k.for_runs(k_begin, k_end - k_begin, [&](int64_t position, int64_t from, int64_t length) {
    b.k.for_runs(k_begin + position, length, [&](int64_t at, int64_t offset, int64_t some) {
      // Strips have all of a line, even if terms begin or end within it, as the next strip is then
      // easier to make. Whoever makes b makes whole lines.
      for (int64_t done = 0, part; done < some; done += part) {
        const int64_t skipped = behind < most ? behind : behind % most, begin = behind - skipped;
        part = std::min(some - done, most - skipped);
        const float* const strip =
            strips.make(offset + done - skipped, std::min(most, line_length - begin));
        steps[count++] = {strip + skipped * strips.lines(), from + at + done, part};
        if (count == strips.count()) run();
        behind += part;
      }
      if (behind == line_length) behind = 0;
    });
  });
  run();
  const int64_t lines = strips.lines(), width = columns / lines;
  for_pieces([&](const WindowPiece& piece, int64_t first) {
    for (int64_t column = first; column < first + piece.columns + piece.by_rows; ++column) {
      float* const to = c + column % lines * width + column / lines;
      const int64_t beside = column - first - piece.columns;
      for (int64_t i = 0; i < rows; ++i) {
        to[i * c_row] = beside < 0 ? sums[i][column] : by_rows[beside][i];
      }
    }
  });
}
#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
