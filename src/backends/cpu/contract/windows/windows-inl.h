// SPDX-License-Identifier: Apache-2.0
// A few rows over short sliding windows, as in the gradient of a first convolution's weight:
// c[row, column] = sum over k of a[row, k] * b[column, k], where columns are the elements of a
// window and k its positions. The lines of a window are shorter than a vector, and the rows too few
// to fill one; so vectors hold several lines, each loaded under its own mask from where it lies.
#if defined(MT_WINDOWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_INL_H
#undef MT_WINDOWS_INL_H
#else
#define MT_WINDOWS_INL_H
#endif

#include <algorithm>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Loads that merge under a mask are what makes this worth it.
#if HWY_TARGET == HWY_AVX3
constexpr bool joins_lines = true;
#else
constexpr bool joins_lines = false;
#endif

#if HWY_TARGET == HWY_AVX3
constexpr int window_vectors = 2;  // that run together
constexpr int64_t most_window_rows = 8, most_steps = 64;

// Positions along k that follow each other in both operands.
struct Steps {
  int64_t a, b, count;
};
struct WindowLines {
  const float *a, *b;
  int64_t rows[most_window_rows];       // offsets of a
  int64_t lines[window_vectors * 5];    // offsets of b, less the lane where each begins
  __mmask16 masks[window_vectors * 5];  // its lanes
};

// sums[row][vector] go on over `count` steps. Vectors hold at most P lines.
template <int R, int P>
HWY_NOINLINE void windows_kernel(const WindowLines& window, const Steps* steps, int64_t count,
                                 float* sums) {
  constexpr int V = window_vectors;
  __m512 sum[R][V];
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = _mm512_loadu_ps(sums + (i * V + v) * 16);
  }
  __mmask16 masks[V][P];
  MT_UNROLL for (int l = 0; l < V * P; ++l) masks[l / P][l % P] = window.masks[l];
  for (; count > 0; --count, ++steps) {
    const float *rows[R], *lines[V][P];
    MT_UNROLL for (int i = 0; i < R; ++i) rows[i] = window.a + window.rows[i] + steps->a;
    MT_UNROLL for (int l = 0; l < V * P; ++l) {
      lines[l / P][l % P] = window.b + window.lines[l] + steps->b;
    }
    for (int64_t k = 0; k < steps->count; ++k) {
      __m512 x[V];
      MT_UNROLL for (int v = 0; v < V; ++v) {
        x[v] = _mm512_maskz_loadu_ps(masks[v][0], lines[v][0] + k);
        MT_UNROLL for (int p = 1; p < P; ++p) {
          x[v] = _mm512_mask_loadu_ps(x[v], masks[v][p], lines[v][p] + k);
        }
      }
      MT_UNROLL for (int i = 0; i < R; ++i) {
        const __m512 y = _mm512_set1_ps(rows[i][k]);
        MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = _mm512_fmadd_ps(y, x[v], sum[i][v]);
      }
    }
  }
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int v = 0; v < V; ++v) _mm512_storeu_ps(sums + (i * V + v) * 16, sum[i][v]);
  }
}

// All rows of a, which are at most most_window_rows, from k_begin to k_end, for columns that begin
// and end with lines of b's windows.
inline void run_windows(const MatrixOperand& a, const float* a_data, const MatrixOperand& b,
                        const float* b_data, int64_t k_begin, int64_t k_end, float* c,
                        int64_t c_row) {
  const int64_t width = b.rows.sizes[b.rows.rank - 1], together = lines_together(width);
  const int64_t rows = a.rows.size, all = b.rows.size / width;
  WindowLines window{a_data, b_data, {}, {}, {}};
  // There may be more rows in a kernel than there are: the last one is repeated.
  for (int64_t i = 0; i < most_window_rows; ++i)
    window.rows[i] = a.rows.offset(std::min(i, rows - 1));
  for (int64_t first = 0; first < all; first += window_vectors * together) {
    const int64_t found = std::min(all - first, window_vectors * together);
    for (int64_t l = 0; l < window_vectors * together; ++l) {
      const int64_t lane = l % together * width;
      window.lines[l] = b.rows.offset((first + std::min(l, found - 1)) * width) - lane;
      window.masks[l] = l < found ? static_cast<__mmask16>(((1 << width) - 1) << lane) : 0;
    }
    alignas(64) float sums[most_window_rows * window_vectors * 16] = {};
    Steps steps[most_steps];
    int64_t count = 0;
    auto run = [&] {
      const bool few = rows <= 6;
      switch (together) {
        case 2:
          (few ? windows_kernel<6, 2> : windows_kernel<8, 2>)(window, steps, count, sums);
          break;
        case 3:
          (few ? windows_kernel<6, 3> : windows_kernel<8, 3>)(window, steps, count, sums);
          break;
        default: (few ? windows_kernel<6, 5> : windows_kernel<8, 5>)(window, steps, count, sums);
      }
      count = 0;
    };
    b.k.for_runs(k_begin, k_end - k_begin, [&](int64_t position, int64_t offset, int64_t length) {
      a.k.for_runs(k_begin + position, length, [&](int64_t at, int64_t from, int64_t some) {
        steps[count++] = {from, offset + at, some};
        if (count == most_steps) run();
      });
    });
    run();
    for (int64_t l = 0; l < found; l += together) {
      const int64_t columns = std::min(together, found - l) * width;
      for (int64_t i = 0; i < rows; ++i) {
        std::copy_n(sums + (i * window_vectors + l / together) * 16, columns,
                    c + i * c_row + (first + l) * width);
      }
    }
  }
}
#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
