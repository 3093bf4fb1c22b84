// SPDX-License-Identifier: Apache-2.0
// The inner loop on vectors of pairs: 8 rows of the left operand, a pair broadcast at a time, times
// 32 columns of the right one, whose sums stay in registers over a block of k.
#include <algorithm>
#include <cstring>

#include "backends/cpu/contract/matrix_unit/matrix_unit.h"
#include "backends/cpu/contract/matrix_unit/tiles.h"
#include "base/rounding.h"

#ifdef MT_MATRIX_UNIT
#include <immintrin.h>

namespace mt::cpu {
namespace {

constexpr int sliver_rows = 8, lanes = 16;

// Lines of memory to fetch to the second-level cache: so many in each step.
struct LinesToCome {
  const char* at;
  int64_t lines;
};

// Where the sums of some rows are and go.
struct Sums {
  float* c;
  uint16_t* rounded;  // nullptr: they go where they are
  int64_t rows, columns;
};

// The panel has terms for all eight rows, even those that the result lacks; sums.rows are kept.
// `vectors`: 1 for up to 16 columns, else 2.
template <int vectors>
MT_WITH_PAIRS void multiply_sliver(const char* a, const char* b, const TileRegion& region,
                                   const Sums& sums, LinesToCome coming) {
  const int64_t pairs = divide_up<int64_t>(region.terms, 2), c_row = region.c_row;
  const __mmask16 masks[2] = {first_lanes(sums.columns), first_lanes(sums.columns - lanes)};
  __m512 sum[sliver_rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < sliver_rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      sum[r][v] = region.first || r >= sums.rows
                      ? _mm512_setzero_ps()
                      : _mm512_maskz_loadu_ps(masks[v], sums.c + r * c_row + lanes * v);
    }
  }
  for (int64_t step = 0; step < pairs; step += step_terms / 2) {
    const int64_t end = std::min<int64_t>(pairs - step, step_terms / 2);
    for (int64_t i = 0; i < coming.lines; ++i, coming.at += 64)
      _mm_prefetch(coming.at, _MM_HINT_T1);
    for (int64_t pair = 0; pair < end; ++pair) {
      const auto* line = b + 64 * pair;
      const auto b0 = reinterpret_cast<__m512bh>(_mm512_load_si512(line));
      const auto b1 = reinterpret_cast<__m512bh>(_mm512_load_si512(line + tile_bytes));
#pragma GCC unroll 8
      for (int r = 0; r < sliver_rows; ++r) {
        int two;
        std::memcpy(&two, a + 64 * r + 4 * pair, sizeof two);
        const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
        sum[r][0] = _mm512_dpbf16_ps(sum[r][0], both, b0);
        if (vectors == 2) sum[r][vectors - 1] = _mm512_dpbf16_ps(sum[r][vectors - 1], both, b1);
      }
    }
    a += 2 * tile_bytes;
    b += 2 * tile_bytes;
  }
  const __mmask32 both = masks[0] | __mmask32{masks[1]} << lanes;
#pragma GCC unroll 8
  for (int r = 0; r < sliver_rows; ++r) {
    if (r >= sums.rows) break;
    if (sums.rounded != nullptr) {
      const auto numbers =
          reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(sum[r][vectors - 1], sum[r][0]));
      _mm512_mask_storeu_epi16(sums.rounded + r * region.rounded_row, both, numbers);
      continue;
    }
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      _mm512_mask_storeu_ps(sums.c + r * c_row + lanes * v, masks[v], sum[r][v]);
    }
  }
}

// The panel of a after the current one: each sliver fetches a part of it, beside each panel of b.
LinesToCome next_of_a(const TileRegion& region, const char* a, const char* b) {
  const int64_t row_panels = divide_up(region.rows, tile_panel_rows);
  const char* const next = a + region.a_panel;
  if (next == region.a + row_panels * region.a_panel) return {next, 0};
  const int64_t slivers = tile_panel_rows / sliver_rows;
  const int64_t parts = divide_up(region.columns, tile_panel_rows) * slivers;
  const int64_t lines = divide_up(2 * tile_bytes / 64, parts);
  const int64_t done = (b - region.b) / region.b_panel * slivers;
  return {next + done * lines * 64 * steps_of(region.terms), lines};
}

MT_WITH_PAIRS void multiply_panels(const TileRegion& region, const char* a, const char* b,
                                   int64_t row, int64_t column, int64_t rows, int64_t columns) {
  LinesToCome coming = next_of_a(region, a, b);
  const int64_t part = coming.lines * 64 * steps_of(region.terms);
  for (int64_t r = 0; r < rows; r += sliver_rows, coming.at += part) {
    uint16_t* const rounded =
        region.rounded ? region.rounded + (row + r) * region.rounded_row + column : nullptr;
    const Sums sums{region.c + (row + r) * region.c_row + column, rounded, rows - r, columns};
    (columns <= lanes ? multiply_sliver<1> : multiply_sliver<2>)(a + 64 * r, b, region, sums,
                                                                 coming);
  }
}

}  // namespace

void multiply_by_pairs(const TileRegion& region) { for_panels(region, multiply_panels); }

}  // namespace mt::cpu

#else
namespace mt::cpu {
void multiply_by_pairs(const TileRegion&) {}  // nobody calls it where there is no unit
}  // namespace mt::cpu
#endif
