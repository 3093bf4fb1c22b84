// SPDX-License-Identifier: Apache-2.0
// Rows whose elements follow each other along k, transposed in registers.
#if defined(MT_CONTRACT_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_TRANSPOSE_INL_H
#undef MT_CONTRACT_TRANSPOSE_INL_H
#else
#define MT_CONTRACT_TRANSPOSE_INL_H
#endif

#include <algorithm>

#include "backends/cpu/simd-inl.h"
#include "backends/cpu/strided/turn.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Where the rows of an operand that are transposed together begin.
template <class T>
struct ScatteredRows {
  const T* data;
  const int64_t* offsets;
  const T* operator()(int i) const { return data + offsets[i]; }
  ScatteredRows at(int64_t k) const { return {data + k, offsets}; }
};
// Rows a stride apart: four share a pointer, which spares looking each of them up.
template <class T>
struct EvenRows {
  const T* data[4];
  int64_t stride;
  EvenRows(const T* first, int64_t distance) : stride(distance) {
    MT_UNROLL for (int i = 0; i < 4; ++i) data[i] = first + 4 * i * stride;
  }
  const T* operator()(int i) const { return data[i / 4] + i % 4 * stride; }
  EvenRows at(int64_t k) const {
    EvenRows result = *this;
    MT_UNROLL for (int i = 0; i < 4; ++i) result.data[i] += k;
    return result;
  }
};

// Vector i has 128-bit blocks from rows i, i + step, i + 2 step, ... of the operand, step being the
// elements of a block.
template <class D, class Rows>
HWY_INLINE hn::Vec<D> load_blocks(D d, const Rows& rows, int i) {
  using T = hn::TFromD<D>;
  constexpr int step = 16 / sizeof(T);
  if constexpr (hn::MaxLanes(D()) == step) {
    return hn::LoadU(d, rows(i));
  } else {
#if HWY_TARGET == HWY_AVX3
    if constexpr (sizeof(T) == 4 && hn::MaxLanes(D()) == 16) {
      __m512 x = _mm512_castps128_ps512(_mm_loadu_ps(rows(i)));
      x = _mm512_mask_broadcast_f32x4(x, 0x00f0, _mm_loadu_ps(rows(i + step)));
      x = _mm512_mask_broadcast_f32x4(x, 0x0f00, _mm_loadu_ps(rows(i + 2 * step)));
      return {_mm512_mask_broadcast_f32x4(x, 0xf000, _mm_loadu_ps(rows(i + 3 * step)))};
    }
    if constexpr (sizeof(T) == 8 && hn::MaxLanes(D()) == 8) {
      __m512d x = _mm512_castpd128_pd512(_mm_loadu_pd(rows(i)));
      x = _mm512_mask_broadcast_f64x2(x, 0x0c, _mm_loadu_pd(rows(i + step)));
      x = _mm512_mask_broadcast_f64x2(x, 0x30, _mm_loadu_pd(rows(i + 2 * step)));
      return {_mm512_mask_broadcast_f64x2(x, 0xc0, _mm_loadu_pd(rows(i + 3 * step)))};
    }
#endif
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, rows, i + static_cast<int>(hn::MaxLanes(half))),
                       load_blocks(half, rows, i));
  }
}

// Transposes each 128-bit block of as many vectors as it has elements.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_blocks(D d, const V (&x)[4], V (&ks)[4]) {
  const hn::Repartition<double, D> wide;
  const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, x[0], x[1]));
  const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, x[2], x[3]));
  const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, x[0], x[1]));
  const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, x[2], x[3]));
  ks[0] = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
  ks[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
  ks[2] = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
  ks[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_blocks(D d, const V (&x)[2], V (&ks)[2]) {
  ks[0] = hn::InterleaveLower(d, x[0], x[1]);
  ks[1] = hn::InterleaveUpper(d, x[0], x[1]);
}

// Transposes 16 bytes along k of as many rows as a vector has lanes.
template <class D, class Rows, size_t N>
HWY_INLINE void transpose(D d, const Rows& rows, hn::Vec<D> (&ks)[N]) {
  hn::Vec<D> x[N];
  MT_UNROLL for (int i = 0; i < static_cast<int>(N); ++i) x[i] = load_blocks(d, rows, i);
  transpose_blocks(d, x, ks);
}

// Packs up to one vector of rows. A whole vector of them is read, and `used` rows are stored.
template <class D, class Rows, class T = hn::TFromD<D>>
HWY_INLINE void pack_along_k(D d, const Rows& rows, int64_t used, const int64_t* ks,
                             int64_t k_count, int64_t width, T* out) {
  constexpr int64_t step = 16 / sizeof(T);
  const auto mask = hn::FirstN(d, used);
  int64_t k = 0;
  while (k < k_count) {
    if (k + step <= k_count && ks[k + step - 1] - ks[k] == step - 1 &&
        ks[k + step / 2] - ks[k] == step / 2 && ks[k + 1] - ks[k] == 1) {
      hn::Vec<D> vectors[step];
      transpose(d, rows.at(ks[k]), vectors);
      if (used >= static_cast<int64_t>(hn::MaxLanes(d))) {
        MT_UNROLL for (int i = 0; i < step; ++i) hn::StoreU(vectors[i], d, out + (k + i) * width);
      } else {
        MT_UNROLL for (int i = 0; i < step; ++i) {
          store_part(vectors[i], d, mask, out + (k + i) * width);
        }
      }
      k += step;
    } else {
      const Rows from = rows.at(ks[k]);
      for (int r = 0; r < used; ++r) out[k * width + r] = *from(r);
      ++k;
    }
  }
}

// Calls take(j, element j of all rows) for a line of memory of as many rows as a vector has lanes.
template <class T>
constexpr int64_t elements_of_line = 64 / sizeof(T);
template <class T, class F>
HWY_INLINE void turn_line(const EvenRows<T>& rows, F&& take) {
  const Vectors<T> d;
  constexpr int step = 16 / sizeof(T);
#if HWY_TARGET == HWY_AVX3
  // Each line is read once, as rows a page apart all meet in one set of the first-level cache.
  const hn::Repartition<float, Vectors<T>> floats;
  __m512 blocks[4][step];  // of `step` rows: block b of vector j has their elements b * step + j
  MT_UNROLL for (int i = 0; i < 4; ++i) {
    hn::Vec<Vectors<T>> x[step], turned[step];
    MT_UNROLL for (int j = 0; j < step; ++j) x[j] = hn::LoadU(d, rows(i * step + j));
    transpose_blocks(d, x, turned);
    MT_UNROLL for (int j = 0; j < step; ++j) blocks[i][j] = hn::BitCast(floats, turned[j]).raw;
  }
  __m512 halves[2][step][2];  // of the line, by vector, of half the rows
  MT_UNROLL for (int j = 0; j < step; ++j) {
    MT_UNROLL for (int i = 0; i < 2; ++i) {
      halves[0][j][i] = _mm512_shuffle_f32x4(blocks[2 * i][j], blocks[2 * i + 1][j], 0x44);
      halves[1][j][i] = _mm512_shuffle_f32x4(blocks[2 * i][j], blocks[2 * i + 1][j], 0xee);
    }
  }
  const auto give = [&](int at, __m512 x) __attribute__((always_inline)) {
    take(at, hn::BitCast(d, hn::Vec<decltype(floats)>{x}));
  };
  MT_UNROLL for (int h = 0; h < 2; ++h) {
    const auto& half = halves[h];
    const int even = 2 * h * step, odd = even + step;
    MT_UNROLL for (int j = 0; j < step; ++j) {
      give(even + j, _mm512_shuffle_f32x4(half[j][0], half[j][1], 0x88));
    }
    MT_UNROLL for (int j = 0; j < step; ++j) {
      give(odd + j, _mm512_shuffle_f32x4(half[j][0], half[j][1], 0xdd));
    }
  }
#else
  MT_UNROLL for (int k = 0; k < elements_of_line<T>; k += step) {
    hn::Vec<Vectors<T>> turned[step];
    transpose(d, rows.at(k), turned);
    MT_UNROLL for (int j = 0; j < step; ++j) take(k + j, turned[j]);
  }
#endif
}

// Two rows of the operand become pairs: out[2 * i + j] = from[j * stride + i].
template <class T>
HWY_INLINE void join_pairs(const T* from, int64_t stride, int64_t count, T* out) {
  const Vectors<T> d;
  int64_t i = 0;
  for (; i + lanes_of<T> <= count; i += lanes_of<T>) {
    hn::StoreInterleaved2(hn::LoadU(d, from + i), hn::LoadU(d, from + stride + i), d, out + 2 * i);
  }
  for (; i < count; ++i) {
    out[2 * i] = from[i];
    out[2 * i + 1] = from[stride + i];
  }
}
// Pairs become two rows: out[j * pitch + i] = from[2 * i + j].
template <class T>
HWY_INLINE void part_pairs(const T* from, int64_t count, T* out, int64_t pitch) {
  const Vectors<T> d;
  int64_t i = 0;
  for (; i + lanes_of<T> <= count; i += lanes_of<T>) {
    hn::Vec<Vectors<T>> first, second;
    hn::LoadInterleaved2(d, from + 2 * i, first, second);
    hn::StoreU(first, d, out + i);
    hn::StoreU(second, d, out + pitch + i);
  }
  for (; i < count; ++i) {
    out[i] = from[2 * i];
    out[pitch + i] = from[2 * i + 1];
  }
}

#endif  // HWY_SCALAR

// out[j * pitch + i] = from[i * stride + j], a line of memory of each row of `from` at a time.
// - If a vector is a line and rows of `out` are short, one vector of each is written at a time: so
//   no more rows are read at once than hardware foresees, and each fetches some lines ahead.
// - Else several vectors of a row of `out` are written one after the other, as long rows may all
//   share a few sets of the first-level cache; then each row that is read fetches its next line.
// The last vector and the last columns begin early enough to be whole, so some is written twice.
template <class T>
void turn_block(const T* from, int64_t stride, int64_t rows, int64_t columns, T* out,
                int64_t pitch) {
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t lanes = lanes_of<T>, step = 16 / sizeof(T);
  constexpr int64_t line = elements_of_line<T>;
  const bool one = lanes == line && pitch <= 4 * lanes;
  const int64_t together = one ? lanes : 4 * lanes, ahead = one ? 4 * line : line;
  constexpr int64_t next[] = {0, 1, 2, 3};
  const Vectors<T> d;
  for (int64_t begin = 0; rows >= lanes && begin < rows; begin += together) {
    const int64_t end = std::min(begin + together, rows);
    for (int64_t column = 0; column < columns;) {
      const bool whole = column + line <= columns;
      const int64_t j = whole ? column : std::clamp<int64_t>(columns - step, 0, column);
      for (int64_t row = begin; row < end; row += lanes) {
        const int64_t i = std::min(row, rows - lanes);
        const EvenRows<T> lines(from + i * stride + j, stride);
        T* const to = out + j * pitch + i;
        if (whole) {
          MT_UNROLL for (int r = 0; r < int{lanes}; ++r) hwy::Prefetch(lines(r) + ahead);
          turn_line(lines, [&](int k, auto x) { hn::StoreU(x, d, to + k * pitch); });
        } else {
          pack_along_k(d, lines, lanes, next, std::min(step, columns - j), pitch, to);
        }
      }
      column += whole ? line : step;
    }
  }
  if (rows >= lanes) return;
  if (rows == 2 && pitch == 2) return join_pairs(from, stride, columns, out);
#endif
  copy_turned(out, pitch, from, stride, columns, rows);
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
