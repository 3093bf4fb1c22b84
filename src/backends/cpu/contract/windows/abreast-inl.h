// SPDX-License-Identifier: Apache-2.0
// The inner loops of abreast.cpp, and transposing as many vectors as a vector has lanes.
#if defined(MT_WINDOWS_ABREAST_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_ABREAST_INL_H
#undef MT_WINDOWS_ABREAST_INL_H
#else
#define MT_WINDOWS_ABREAST_INL_H
#endif

#include <algorithm>
#include <array>
#include <utility>

#include "backends/cpu/contract/transpose-inl.h"
#include "backends/cpu/contract/windows/abreast.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int abreast_registers = 24, most_positions = 4;
#else
constexpr int abreast_registers = 12, most_positions = 2;
#endif
constexpr int most_abreast_rows = 8;
constexpr int most_own_positions = HWY_TARGET == HWY_SCALAR ? 1 : 8;
constexpr int abreast_rows_for(int positions) {
  return std::min(abreast_registers / positions, most_abreast_rows);
}

// A few rows and positions of the result.
struct AbreastTile {
  const float *a, *b;
  const int64_t* a_rows;
  const Abreast::Term* terms;
  int64_t k;
  int64_t step;  // of b, from one position to the next
  float* c;
  int64_t c_row;
};

// c[row][position] = sum over k of a[row, k] * b[position, k], each position a vector, and if `own`
// so is each element of a.
template <int R, int V, bool own = false>
HWY_NOINLINE void abreast_kernel(const AbreastTile& tile) {
  const Vectors<float> d;
  hn::Vec<Vectors<float>> sum[R][V];
  const float *a[R], *b[V];  // forgotten as in add_indexed() (contract/micro_kernel-inl.h)
  MT_UNROLL for (int v = 0; v < V; ++v) forget(b[v] = tile.b + v * tile.step);
  MT_UNROLL for (int i = 0; i < R; ++i) {
    forget(a[i] = tile.a + tile.a_rows[i]);
    MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = hn::Zero(d);
  }
  for (const Abreast::Term *term = tile.terms, *end = term + tile.k; term != end; ++term) {
    const int64_t at = term->a, from = term->b;
    hn::Vec<Vectors<float>> bs[V];
    MT_UNROLL for (int v = 0; v < V; ++v) bs[v] = hn::Load(d, b[v] + from);
    MT_UNROLL for (int i = 0; i < R; ++i) {
      const auto x = own ? hn::Load(d, a[i] + at) : hn::Set(d, a[i][at]);
      MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = fused(d, x, bs[v], sum[i][v]);
    }
  }
  float* c = tile.c;
  MT_UNROLL for (int i = 0; i < R; ++i, c += tile.c_row) {
    forget(c);
    MT_UNROLL for (int v = 0; v < V; ++v) hn::Store(sum[i][v], d, c + v * lanes_of<float>);
  }
}

// The same for entries with their own weights where terms are lines of W neighbours, which
// positions share: each element of b is read once for a line.
template <int V, int W>
HWY_NOINLINE void abreast_lines_kernel(const AbreastTile& tile) {
  const Vectors<float> d;
  constexpr int lanes = lanes_of<float>;
  hn::Vec<Vectors<float>> sum[V];
  MT_UNROLL for (int v = 0; v < V; ++v) sum[v] = hn::Zero(d);
  const float *a = tile.a + tile.a_rows[0], *b = tile.b;
  const int64_t step = tile.step;
  for (const Abreast::Term *term = tile.terms, *end = term + tile.k; term != end; term += W) {
    const float *as = a + term->a, *from = b + int64_t{term->b};
    hn::Vec<Vectors<float>> weights[W];
    MT_UNROLL for (int w = 0; w < W; ++w) weights[w] = hn::Load(d, as + w * lanes);
    MT_UNROLL for (int i = 0; i < V + W - 1; ++i, from += step) {
      forget(from);
      const auto x = hn::Load(d, from);
      MT_UNROLL for (int w = 0; w < W; ++w) {
        if (i >= w && i - w < V) sum[i - w] = fused(d, weights[w], x, sum[i - w]);
      }
    }
  }
  MT_UNROLL for (int v = 0; v < V; ++v) hn::Store(sum[v], d, tile.c + v * lanes);
}

// Whether one of a tile's results is -0.
HWY_NOINLINE bool has_negative_zero(const AbreastTile& tile, int64_t rows, int64_t positions) {
  const Vectors<int32_t> d;
  auto least = hn::Zero(d);
  const auto* c = reinterpret_cast<const int32_t*>(tile.c);
  for (int64_t i = 0; i < rows; ++i, c += tile.c_row) {
    for (int64_t p = 0; p < positions; ++p) {
      least = hn::Min(least, hn::Load(d, c + p * lanes_of<float>));
    }
  }
  return !hn::AllFalse(d, hn::Eq(least, hn::Set(d, INT32_MIN)));
}

using AbreastKernel = void (*)(const AbreastTile&);

template <int V, int... I>
constexpr std::array<AbreastKernel, most_abreast_rows> abreast_kernels_of(
    std::integer_sequence<int, I...>) {
  return {abreast_kernel<I + 1, V>...};
}
template <int... V>
constexpr std::array<AbreastKernel, sizeof...(V)> own_kernels_of(std::integer_sequence<int, V...>) {
  return {abreast_kernel<1, V + 1, true>...};
}
// Kernels for lines of W terms, for fewest_line_positions positions and more.
template <int W, int... I>
constexpr std::array<AbreastKernel, sizeof...(I)> line_kernels_of(
    std::integer_sequence<int, I...>) {
  return {abreast_lines_kernel<fewest_line_positions + I, W>...};
}
template <int... V>
constexpr std::array<std::array<AbreastKernel, most_abreast_rows>, most_positions> abreast_table(
    std::integer_sequence<int, V...>) {
  return {abreast_kernels_of<V + 1>(std::make_integer_sequence<int, abreast_rows_for(V + 1)>())...};
}

#if HWY_TARGET == HWY_AVX3
// Transposes 16 vectors of 16 elements: y[j][i] = x[i][j].
HWY_INLINE void turn_square(__m512 (&x)[16], __m512 (&y)[16]) {
  auto low = [](__m512 a, __m512 b) HWY_ATTR { return _mm512_unpacklo_ps(a, b); };
  auto high = [](__m512 a, __m512 b) HWY_ATTR { return _mm512_unpackhi_ps(a, b); };
  auto low_pairs = [](__m512 a, __m512 b) HWY_ATTR {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  auto high_pairs = [](__m512 a, __m512 b) HWY_ATTR {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  MT_UNROLL for (int i = 0; i < 16; i += 4) {
    y[i] = low(x[i], x[i + 1]);
    y[i + 1] = high(x[i], x[i + 1]);
    y[i + 2] = low(x[i + 2], x[i + 3]);
    y[i + 3] = high(x[i + 2], x[i + 3]);
    // x[i + r]: blocks of 4, block b being column 4 b + r of rows i to i + 3.
    x[i] = low_pairs(y[i], y[i + 2]);
    x[i + 1] = high_pairs(y[i], y[i + 2]);
    x[i + 2] = low_pairs(y[i + 1], y[i + 3]);
    x[i + 3] = high_pairs(y[i + 1], y[i + 3]);
  }
  MT_UNROLL for (int r = 0; r < 4; ++r) {
    const __m512 even01 = _mm512_shuffle_f32x4(x[r], x[4 + r], 0x88);
    const __m512 odd01 = _mm512_shuffle_f32x4(x[r], x[4 + r], 0xdd);
    const __m512 even23 = _mm512_shuffle_f32x4(x[8 + r], x[12 + r], 0x88);
    const __m512 odd23 = _mm512_shuffle_f32x4(x[8 + r], x[12 + r], 0xdd);
    y[r] = _mm512_shuffle_f32x4(even01, even23, 0x88);
    y[4 + r] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    y[8 + r] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    y[12 + r] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
}

// Calls store(j, element j of all rows) for as many rows and elements as a vector has lanes.
template <class Rows, class Store>
HWY_INLINE void turn_square(const Rows& rows, Store store) {
  __m512 x[16], y[16];
  MT_UNROLL for (int i = 0; i < 16; ++i) x[i] = _mm512_loadu_ps(rows(i));
  turn_square(x, y);
  MT_UNROLL for (int j = 0; j < 16; ++j) store(j, hn::Vec<Vectors<float>>{y[j]});
}

// The same for the first `count` elements only, without reading beyond them; where that is
// impossible (turns_columns is false), for all elements.
constexpr bool turns_columns = true;
template <class Rows, class Store>
HWY_INLINE void turn_columns(const Rows& rows, int count, Store store) {
  const auto mask = static_cast<__mmask16>((1 << count) - 1);
  __m512 x[16], y[16];
  MT_UNROLL for (int i = 0; i < 16; ++i) x[i] = _mm512_maskz_loadu_ps(mask, rows(i));
  turn_square(x, y);
  MT_UNROLL for (int j = 0; j < 16; ++j) {
    if (j < count) store(j, hn::Vec<Vectors<float>>{y[j]});
  }
}
#elif HWY_TARGET != HWY_SCALAR
template <class Rows, class Store>
HWY_INLINE void turn_square(const Rows& rows, Store store) {
  MT_UNROLL for (int j = 0; j < lanes_of<float>; j += 4) {
    hn::Vec<Vectors<float>> four[4];
    transpose(Vectors<float>(), rows.at(j), four);
    MT_UNROLL for (int i = 0; i < 4; ++i) store(j + i, four[i]);
  }
}
constexpr bool turns_columns = false;
template <class Rows, class Store>
HWY_INLINE void turn_columns(const Rows& rows, int /*count*/, Store store) {
  turn_square(rows, store);
}
#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
