// SPDX-License-Identifier: Apache-2.0
// A few rows over short sliding windows, as in the gradient of a first convolution's weight:
// c[row, column] = sum over k of a[row, k] * b[column, k], where columns are the elements of a
// window and k its positions. The lines of a window are shorter than a vector, and the rows too few
// to fill one; so vectors hold several lines, picked in registers from longer stretches of them, as
// the next position finds them one element further on.
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

// To pick from two registers in one go is what makes this worth it.
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
  int64_t width;                      // of a line
  int64_t rows[most_window_rows];     // offsets of a
  int64_t lines[window_vectors * 5];  // offsets of b
};

// Keeps gcc 12 from leaving x in memory, though there are registers.
HWY_INLINE void keep(__m512& x) { asm("" : "+v"(x)); }

// sums[row][vector] go on over `count` steps. The first vector holds P lines, the second one Q.
template <int R, int P, int Q>
HWY_NOINLINE void windows_kernel(const WindowLines& window, const Steps* steps, int64_t count,
                                 float* sums) {
  constexpr int V = window_vectors;
  const int64_t width = window.width, most = 17 - width;  // positions in a stretch
  // Where a lane finds its number at the first position: in the first line, in the second, or in
  // another one, whose lanes are picked alone.
  alignas(64) int32_t places[16];
  __mmask16 lanes[P];
  for (int64_t lane = 0; lane < 16; ++lane) {
    const int64_t line = lane / width;
    places[lane] = static_cast<int32_t>(lane % width + (line == 1 ? 16 : 0));
  }
  MT_UNROLL for (int p = 2; p < P; ++p) {
    lanes[p] = static_cast<__mmask16>(((1 << width) - 1) << p * width);
  }
  const __m512i begin = _mm512_load_si512(places), one = _mm512_set1_epi32(1);
  __m512 sum[R][V];
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = _mm512_loadu_ps(sums + (i * V + v) * 16);
  }
  for (; count > 0; --count, ++steps) {
    const float* rows[R];
    MT_UNROLL for (int i = 0; i < R; ++i) rows[i] = window.a + window.rows[i] + steps->a;
    for (int64_t k = 0; k < steps->count; k += most) {
      const int64_t end = std::min(k + most, steps->count);
      const auto mask = static_cast<__mmask16>((1 << (end - k + width - 1)) - 1);
      const float* const from = window.b + steps->b + k;
      __m512 lines[V][P];
      MT_UNROLL for (int l = 0; l < P + Q; ++l) {
        lines[l / P][l % P] = _mm512_maskz_loadu_ps(mask, from + window.lines[l]);
      }
      __m512i place = begin;
      for (int64_t at = k; at < end; ++at) {
        __m512 x[V];
        MT_UNROLL for (int v = 0; v < V; ++v) {
          x[v] = _mm512_permutex2var_ps(lines[v][0], place, lines[v][1]);
          MT_UNROLL for (int p = 2; p < (v == 0 ? P : Q); ++p) {
            x[v] = _mm512_mask_permutexvar_ps(x[v], lanes[p], place, lines[v][p]);
          }
          keep(x[v]);
        }
        place = _mm512_add_epi32(place, one);
        MT_UNROLL for (int i = 0; i < R; ++i) {
          __m512 y = _mm512_set1_ps(rows[i][at]);
          keep(y);
          MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = _mm512_fmadd_ps(y, x[v], sum[i][v]);
        }
      }
    }
  }
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int v = 0; v < V; ++v) _mm512_storeu_ps(sums + (i * V + v) * 16, sum[i][v]);
  }
}

using WindowsKernel = void (*)(const WindowLines& window, const Steps* steps, int64_t count,
                               float* sums);
template <int R>
WindowsKernel windows_kernel_of(int64_t together, int64_t lines) {
  const bool few = lines <= together + 2;
  if (together == 2) return windows_kernel<R, 2, 2>;
  if (together == 3) return few ? windows_kernel<R, 3, 2> : windows_kernel<R, 3, 3>;
  return few ? windows_kernel<R, 5, 2> : windows_kernel<R, 5, 5>;
}
inline WindowsKernel windows_kernel_for(int64_t rows, int64_t together, int64_t lines) {
  return rows <= 6 ? windows_kernel_of<6>(together, lines) : windows_kernel_of<8>(together, lines);
}

// All rows of a, which are at most most_window_rows, from k_begin to k_end, for columns that begin
// and end with lines of b's windows.
inline void run_windows(const MatrixOperand& a, const float* a_data, const MatrixOperand& b,
                        const float* b_data, int64_t k_begin, int64_t k_end, float* c,
                        int64_t c_row) {
  const int64_t width = b.rows.sizes[b.rows.rank - 1], together = lines_together(width);
  const int64_t rows = a.rows.size, all = b.rows.size / width;
  WindowLines window{a_data, b_data, width, {}, {}};
  // There may be more rows in a kernel than there are: the last one is repeated.
  for (int64_t i = 0; i < most_window_rows; ++i)
    window.rows[i] = a.rows.offset(std::min(i, rows - 1));
  for (int64_t first = 0; first < all; first += window_vectors * together) {
    const int64_t found = std::min(all - first, window_vectors * together);
    for (int64_t l = 0; l < window_vectors * together; ++l) {
      window.lines[l] = b.rows.offset((first + std::min(l, found - 1)) * width);
    }
    alignas(64) float sums[most_window_rows * window_vectors * 16] = {};
    Steps steps[most_steps];
    int64_t count = 0;
    auto run = [&] {
      windows_kernel_for(rows, together, found)(window, steps, count, sums);
      count = 0;
    };
    // Those of a are as a rule longer.
    a.k.for_runs(k_begin, k_end - k_begin, [&](int64_t position, int64_t from, int64_t length) {
      b.k.for_runs(k_begin + position, length, [&](int64_t at, int64_t offset, int64_t some) {
        steps[count++] = {from + at, offset, some};
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
