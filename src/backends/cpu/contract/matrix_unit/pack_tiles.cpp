// SPDX-License-Identifier: Apache-2.0
// Packing for the matrix units: float32, wherever it lies, becomes tiles of bfloat16, rounded or
// split into parts; bfloat16 keeps its values, but the two numbers of each pair are exchanged.
//
// Vectors are read along rows or k, whichever is contiguous. Two vectors along the rows, of
// neighbouring terms, make a line of the right operand's tile; 32 terms of one row make a line of
// the left operand's. In the other two cases the tile is transposed, as a matrix of 16 x 16 pairs.
#include <algorithm>

#include "backends/cpu/contract/matrix_unit/matrix_unit.h"
#include "backends/cpu/contract/matrix_unit/tiles.h"

#ifdef MT_MATRIX_UNIT
#ifndef __clang__
// gcc 12 takes the undefined vectors of its own header for a mistake.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "backends/cpu/contract/matrix_unit/even_runs-inl.h"

namespace mt::cpu {
namespace {

#define MT_INLINE_TILES MT_WITH_PAIRS __attribute__((always_inline)) inline

constexpr int most_parts = 3;
constexpr int64_t half_rows = 16;  // of a tile

struct Watch {
  __m512i most, least;  // lanes as wide as what is packed
};

// 16 numbers.
MT_INLINE_TILES __m512 load(__mmask16 mask, const float* from) {
  return _mm512_maskz_loadu_ps(mask, from);
}
MT_INLINE_TILES __m256i load(__mmask16 mask, const uint16_t* from) {
  return _mm256_maskz_loadu_epi16(mask, from);
}

MT_INLINE_TILES void observe(__m512 x, Watch* watch) {
  const __m512i bits = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
  watch->most = _mm512_max_epu32(watch->most, bits);
  watch->least = _mm512_min_epu32(watch->least, _mm512_sub_epi32(bits, _mm512_set1_epi32(1)));
}

MT_INLINE_TILES void observe(__m512i x, Watch* watch) {  // bfloat16
  const __m512i bits = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
  watch->most = _mm512_max_epu16(watch->most, bits);
  watch->least = _mm512_min_epu16(watch->least, _mm512_sub_epi16(bits, _mm512_set1_epi16(1)));
}

// Splits 32 numbers into parts of bfloat16, each of which rounds what the parts before have left.
// Stored as pairs (x0[i], x1[i]), or all of x0 and then all of x1.
template <int parts, bool pairs>
MT_INLINE_TILES void split(__m512 x0, __m512 x1, char* out, int64_t part_bytes, Watch* watch) {
  observe(x0, watch);
  observe(x1, watch);
  const __m512i interleave =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  for (int p = 0; p < parts; ++p) {
    const __m512i rounded = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(x1, x0));
    const __m512i paired = _mm512_permutexvar_epi16(interleave, rounded);
    _mm512_store_si512(out + p * part_bytes, pairs ? paired : rounded);
    if (p == parts - 1) break;
    const __m512i low = _mm512_slli_epi32(paired, 16);
    const __m512i high = _mm512_and_si512(paired, _mm512_set1_epi32(-65536));
    x0 = _mm512_sub_ps(x0, _mm512_castsi512_ps(low));
    x1 = _mm512_sub_ps(x1, _mm512_castsi512_ps(high));
  }
}

template <int parts, bool pairs>
MT_INLINE_TILES void split(__m256i x0, __m256i x1, char* out, int64_t, Watch* watch) {
  static_assert(parts == 1);
  __m512i out_of_both;
  if (pairs) {
    const __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(x0), 16);
    out_of_both = _mm512_or_si512(high, _mm512_cvtepu16_epi32(x1));
  } else {
    out_of_both = _mm512_inserti64x4(_mm512_castsi256_si512(x0), x1, 1);
    out_of_both = _mm512_rol_epi32(out_of_both, 16);
  }
  observe(out_of_both, watch);
  _mm512_store_si512(out, out_of_both);
}

// What was seen, as bits of float32.
template <class T>
MT_WITH_PAIRS Magnitudes seen(const Watch& watch) {
  if (sizeof(T) == 4) {
    return {_mm512_reduce_max_epu32(watch.most), _mm512_reduce_min_epu32(watch.least)};
  }
  const __m512i low = _mm512_set1_epi32(0xffff);
  const uint32_t most = _mm512_reduce_max_epu32(
      _mm512_max_epu32(_mm512_srli_epi32(watch.most, 16), _mm512_and_si512(watch.most, low)));
  const uint32_t least = _mm512_reduce_min_epu32(
      _mm512_min_epu32(_mm512_srli_epi32(watch.least, 16), _mm512_and_si512(watch.least, low)));
  return {most << 16, ((least + 1) << 16) - 1};
}

// Transposes 16 x 16 words.
MT_INLINE_TILES void transpose_tile(__m512i (&x)[16], char* to) {
  __m512i y[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  // x[4 q + r]: blocks of 4 words, block b being column 4 b + r of rows 4 q to 4 q + 3.
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const __m512i low01 = _mm512_shuffle_i32x4(x[r], x[4 + r], 0x88);
    const __m512i high01 = _mm512_shuffle_i32x4(x[r], x[4 + r], 0xdd);
    const __m512i low23 = _mm512_shuffle_i32x4(x[8 + r], x[12 + r], 0x88);
    const __m512i high23 = _mm512_shuffle_i32x4(x[8 + r], x[12 + r], 0xdd);
    _mm512_store_si512(to + 64 * r, _mm512_shuffle_i32x4(low01, low23, 0x88));
    _mm512_store_si512(to + 64 * (4 + r), _mm512_shuffle_i32x4(high01, high23, 0x88));
    _mm512_store_si512(to + 64 * (8 + r), _mm512_shuffle_i32x4(low01, low23, 0xdd));
    _mm512_store_si512(to + 64 * (12 + r), _mm512_shuffle_i32x4(high01, high23, 0xdd));
  }
}

MT_WITH_PAIRS [[gnu::noinline]] void transpose_tile(const char* from, char* to) {
  __m512i x[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = _mm512_load_si512(from + 64 * i);
  transpose_tile(x, to);
}

// A tile for each part, at out + part * part_bytes, from 16 rows that are neighbours in memory:
// data[r + ks[k]].
template <class T, int parts>
MT_WITH_PAIRS void pack_along_rows(const T* data, int64_t rows, const int64_t* ks, int64_t terms,
                                   bool right, char* out, int64_t part_bytes, Watch* watch) {
  alignas(64) char turned[most_parts * tile_bytes];
  const __mmask16 mask = first_lanes(rows);
  char* const to = right ? out : turned;
  const int64_t to_part = right ? part_bytes : tile_bytes;
  Watch seen = *watch;  // in registers
  for (int64_t i = 0; i < 16; ++i) {
    const bool one = 2 * i < terms, two = 2 * i + 1 < terms;
    const auto x0 = one ? load(mask, data + ks[2 * i]) : load(0, data);
    const auto x1 = two ? load(mask, data + ks[2 * i + 1]) : load(0, data);
    split<parts, true>(x0, x1, to + 64 * i, to_part, &seen);
  }
  *watch = seen;
  if (right) return;
  for (int p = 0; p < parts; ++p) transpose_tile(turned + p * tile_bytes, out + p * part_bytes);
}

// The same from rows whose terms are neighbours: data[rows[r] + k].
template <class T, int parts>
MT_WITH_PAIRS void pack_along_k(const T* data, const int64_t* rows, int64_t row_count,
                                int64_t terms, bool right, char* out, int64_t part_bytes,
                                Watch* watch) {
  alignas(64) char turned[most_parts * tile_bytes];
  const __mmask16 mask0 = first_lanes(terms), mask1 = first_lanes(terms - 16);
  char* const to = right ? turned : out;
  const int64_t to_part = right ? tile_bytes : part_bytes;
  Watch seen = *watch;
  for (int64_t i = 0; i < 16; ++i) {
    auto x0 = load(0, data), x1 = x0;
    if (i < row_count) {
      x0 = load(mask0, data + rows[i]);
      x1 = load(mask1, data + rows[i] + 16);
    }
    split<parts, false>(x0, x1, to + 64 * i, to_part, &seen);
  }
  *watch = seen;
  if (!right) return;
  for (int p = 0; p < parts; ++p) transpose_tile(turned + p * tile_bytes, out + p * part_bytes);
}

// A tile of the right operand from 16 rows of bfloat16, `stride` apart, whose terms are neighbours.
MT_INLINE_TILES void pack_whole_rows(const uint16_t* data, int64_t stride, char* out,
                                     Watch* watch) {
  __m512i x[16];
  Watch seen = *watch;
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    x[i] = _mm512_rol_epi32(_mm512_loadu_si512(data + i * stride), 16);
    observe(x[i], &seen);
  }
  *watch = seen;
  transpose_tile(x, out);
}

// Both tiles of the left operand from 32 such rows.
MT_INLINE_TILES void pack_left_rows(const uint16_t* data, int64_t stride, char* out, Watch* watch) {
  Watch seen = *watch;
  for (int64_t i = 0; i < tile_panel_rows; ++i, data += stride) {
    const __m512i x = _mm512_rol_epi32(_mm512_loadu_si512(data), 16);
    observe(x, &seen);
    _mm512_store_si512(out + 64 * i, x);
  }
  *watch = seen;
}

// Stores the pairs of two terms of 32 rows to both tiles of the right operand.
MT_INLINE_TILES void store_pairs(__m512i x0, __m512i x1, char* out, Watch* watch) {
  alignas(64) static constexpr uint16_t pairs[2][32] = {
      {32, 0, 33, 1, 34, 2,  35, 3,  36, 4,  37, 5,  38, 6,  39, 7,
       40, 8, 41, 9, 42, 10, 43, 11, 44, 12, 45, 13, 46, 14, 47, 15},
      {48, 16, 49, 17, 50, 18, 51, 19, 52, 20, 53, 21, 54, 22, 55, 23,
       56, 24, 57, 25, 58, 26, 59, 27, 60, 28, 61, 29, 62, 30, 63, 31}};
  const __m512i first = _mm512_load_si512(pairs[0]), second = _mm512_load_si512(pairs[1]);
  observe(x0, watch);
  observe(x1, watch);
  _mm512_store_si512(out, _mm512_permutex2var_epi16(x0, first, x1));
  _mm512_store_si512(out + tile_bytes, _mm512_permutex2var_epi16(x0, second, x1));
}

// Both tiles of the right operand from 32 terms of bfloat16, `stride` apart, of 32 neighbours.
MT_INLINE_TILES void pack_whole_lines(const uint16_t* data, int64_t stride, char* out,
                                      Watch* watch) {
  Watch seen = *watch;
  for (int64_t i = 0; i < 16; ++i, data += 2 * stride, out += 64) {
    store_pairs(_mm512_loadu_si512(data), _mm512_loadu_si512(data + stride), out, &seen);
  }
  *watch = seen;
}

// Both tiles of the right operand from rows in runs, and up to 32 terms.
template <int stride>
MT_WITH_PAIRS void pack_row_runs(const uint16_t* data, const EvenRuns& rows, const int64_t* ks,
                                 int64_t terms, char* out, Watch* watch) {
  Watch seen = *watch;
  for (int64_t i = 0; i < 16; ++i, out += 64) {
    __m512i x0 = _mm512_setzero_si512(), x1 = x0;
    if (2 * i < terms) x0 = rows.load<stride>(data + ks[2 * i]);
    if (2 * i + 1 < terms) x1 = rows.load<stride>(data + ks[2 * i + 1]);
    store_pairs(x0, x1, out, &seen);
  }
  *watch = seen;
}

// A tile of either operand from up to 16 rows, whose terms lie in runs.
template <int stride>
MT_WITH_PAIRS void pack_term_runs(const uint16_t* data, const EvenRuns& terms, const int64_t* rows,
                                  int64_t row_count, bool right, char* out, Watch* watch) {
  __m512i x[16];
  Watch seen = *watch;
  for (int64_t i = 0; i < 16; ++i) {
    x[i] = _mm512_setzero_si512();
    if (i < row_count) x[i] = _mm512_rol_epi32(terms.load<stride>(data + rows[i]), 16);
    observe(x[i], &seen);
    if (!right) _mm512_store_si512(out + 64 * i, x[i]);
  }
  *watch = seen;
  if (right) transpose_tile(x, out);
}

// One step of one panel: both its tiles, in all parts.
template <class T, int parts>
class StepPacker {
 public:
  explicit StepPacker(const PackedBlock& block)
      : block_(block),
        data_(static_cast<const T*>(block.data)),
        x_(*block.x),
        along_rows_(x_.rows.uniform() && x_.rows.stride() == 1),
        along_k_(x_.k.uniform() && x_.k.stride() == 1) {}

  bool along_rows() const { return along_rows_; }

  MT_WITH_PAIRS void pack(int64_t row, int64_t k, char* out, Watch* watch) const {
    constexpr int64_t part_bytes = 2 * tile_bytes;
    const int64_t terms = std::min(step_terms, block_.k_end - k);
    if constexpr (sizeof(T) == 2) {
      const bool whole = terms == step_terms && row + tile_panel_rows <= block_.row_end;
      if (whole && !block_.right && along_k_ && x_.rows.uniform()) {
        return pack_left_rows(data_ + x_.rows.offset(row) + x_.k.offset(k), x_.rows.stride(), out,
                              watch);
      }
      if (whole && block_.right && along_rows_ && x_.k.uniform()) {
        return pack_whole_lines(data_ + x_.rows.offset(row) + x_.k.offset(k), x_.k.stride(), out,
                                watch);
      }
      if (whole && block_.right && along_k_ && x_.rows.uniform()) {
        const int64_t stride = x_.rows.stride();
        const T* const from = data_ + x_.rows.offset(row) + x_.k.offset(k);
#pragma GCC unroll 1
        for (int64_t half = 0; half < 2; ++half) {
          pack_whole_rows(from + half * half_rows * stride, stride, out + half * tile_bytes, watch);
        }
        return;
      }
    }
    if constexpr (sizeof(T) == 2) {
      if (!along_rows_ && !along_k_ && pack_in_runs(row, k, terms, out, watch)) return;
    }
    int64_t ks[step_terms], starts[half_rows];
    x_.k.offsets(k, terms, ks);
    for (int64_t half = 0; half < 2; ++half, row += half_rows, out += tile_bytes) {
      const int64_t rows = std::clamp<int64_t>(block_.row_end - row, 0, half_rows);
      if (along_rows_) {
        const T* from = data_ + (rows > 0 ? x_.rows.offset(row) : 0);
        pack_along_rows<T, parts>(from, rows, ks, terms, block_.right, out, part_bytes, watch);
        continue;
      }
      x_.rows.offsets(row, rows, starts);
      if (along_k_) {
        pack_along_k<T, parts>(data_ + ks[0], starts, rows, terms, block_.right, out, part_bytes,
                               watch);
        continue;
      }
      T gathered[half_rows * step_terms];
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < terms; ++j) {
          gathered[i * step_terms + j] = data_[starts[i] + ks[j]];
        }
        starts[i] = i * step_terms;
      }
      pack_along_k<T, parts>(gathered, starts, rows, terms, block_.right, out, part_bytes, watch);
    }
  }

 private:
  // Returns false if neither rows nor terms lie in a few runs.
  MT_WITH_PAIRS bool pack_in_runs(int64_t row, int64_t k, int64_t terms, char* out,
                                  Watch* watch) const {
    const int64_t rows = std::min(tile_panel_rows, block_.row_end - row);
    int64_t at[tile_panel_rows];
    EvenRuns runs;
    if (block_.right && lies_in_runs(x_.rows)) {
      runs.find(x_.rows, row, rows);
      if (runs.count <= EvenRuns::most) {
        x_.k.offsets(k, terms, at);
        const bool by_ones = x_.rows.stride() == 1;
        (by_ones ? pack_row_runs<1> : pack_row_runs<2>)(data_, runs, at, terms, out, watch);
        return true;
      }
    }
    if (!lies_in_runs(x_.k)) return false;
    runs.count = 0;
    runs.find(x_.k, k, terms);
    if (runs.count > EvenRuns::most) return false;
    x_.rows.offsets(row, rows, at);
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t first = half * half_rows;
      const int64_t some = std::clamp<int64_t>(rows - first, 0, half_rows);
      (x_.k.stride() == 1 ? pack_term_runs<1> : pack_term_runs<2>)(data_, runs, at + first, some,
                                                                   block_.right,
                                                                   out + half * tile_bytes, watch);
    }
    return true;
  }

  const PackedBlock& block_;
  const T* const data_;
  const MatrixOperand& x_;
  const bool along_rows_, along_k_;
};

template <class T, int parts>
MT_WITH_PAIRS Magnitudes pack_parts(const PackedBlock& block) {
  const StepPacker<T, parts> packer(block);
  Watch watch{_mm512_setzero_si512(), _mm512_set1_epi32(-1)};
  const int64_t step_bytes = tile_panel_bytes(step_terms, parts);
  const int64_t panel = tile_panel_bytes(block.k_end - block.k_begin, parts);
  const int64_t steps = steps_of(block.k_end - block.k_begin);
  const int64_t panels = (block.row_end - block.row_begin + tile_panel_rows - 1) / tile_panel_rows;
  // Memory is read as it lies: whole rows of a matrix one after the other, or along a few of them.
  for (int64_t i = 0; i < steps * panels; ++i) {
    const int64_t step = packer.along_rows() ? i / panels : i % steps;
    const int64_t at = packer.along_rows() ? i % panels : i / steps;
    packer.pack(block.row_begin + at * tile_panel_rows, block.k_begin + step * step_terms,
                block.out + at * panel + step * step_bytes, &watch);
  }
  return seen<T>(watch);
}

}  // namespace

Magnitudes pack_tiles(const PackedBlock& block) {
  if (block.x->dtype == Dtype::bfloat16) return pack_parts<uint16_t, 1>(block);
  return block.parts == 1 ? pack_parts<float, 1>(block) : pack_parts<float, 3>(block);
}

}  // namespace mt::cpu

#else
namespace mt::cpu {
Magnitudes pack_tiles(const PackedBlock&) { return {}; }  // nobody calls it without a unit
}  // namespace mt::cpu
#endif
