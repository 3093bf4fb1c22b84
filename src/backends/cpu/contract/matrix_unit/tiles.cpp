// SPDX-License-Identifier: Apache-2.0
// The inner loop on tiles: 32 x 32 results in four tiles, two tiles of each operand.
#include "backends/cpu/contract/matrix_unit/tiles.h"

#include <cstring>

#include "backends/cpu/contract/matrix_unit/matrix_unit.h"

#ifdef MT_MATRIX_UNIT
#include <immintrin.h>

namespace mt::cpu {
namespace {

struct alignas(64) Configuration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Registers 0 to 3 are the result, row by row; 4 and 5 the left operand; 6 and 7 the right one.
#define LOAD_LEFT(part)                          \
  _tile_loadd(4, a + (part)*2 * tile_bytes, 64); \
  _tile_loadd(5, a + ((part)*2 + 1) * tile_bytes, 64)
#define LOAD_RIGHT(part)                         \
  _tile_loadd(6, b + (part)*2 * tile_bytes, 64); \
  _tile_loadd(7, b + ((part)*2 + 1) * tile_bytes, 64)
#define MULTIPLY()         \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7)

MT_WITH_TILES void multiply_rounded(const char* a, const char* b, int64_t steps) {
  for (int64_t s = 0; s < steps; ++s, a += 2 * tile_bytes, b += 2 * tile_bytes) {
    LOAD_LEFT(0);
    LOAD_RIGHT(0);
    MULTIPLY();
  }
}

// Fetches two tiles that the next step loads, as loading tiles from farther away than the
// first-level cache holds products up.
MT_WITH_TILES void fetch(const char* tiles) {
#pragma GCC unroll 32
  for (int64_t line = 0; line < 2 * tile_bytes; line += 64) _mm_prefetch(tiles + line, _MM_HINT_T0);
}

// Three of the nine products of parts are left out; they are at most 2^-24 of the whole. After the
// last step, b's next panel and the beginning of a's panel come next, so these are fetched.
MT_WITH_TILES void multiply_split(const char* a, const char* b, int64_t steps) {
  const char* const a_panel = a;
  for (int64_t s = 1; s <= steps; ++s) {
    const char *const a_next = s < steps ? a + 6 * tile_bytes : a_panel,
                      *b_next = b + 6 * tile_bytes;
    LOAD_RIGHT(0);
    LOAD_LEFT(2);
    fetch(b_next);
    MULTIPLY();
    LOAD_LEFT(1);
    fetch(b_next + 2 * tile_bytes);
    MULTIPLY();
    LOAD_LEFT(0);
    fetch(b_next + 4 * tile_bytes);
    MULTIPLY();
    LOAD_RIGHT(2);
    fetch(a_next);
    MULTIPLY();
    LOAD_RIGHT(1);
    fetch(a_next + 2 * tile_bytes);
    MULTIPLY();
    LOAD_LEFT(1);
    fetch(a_next + 4 * tile_bytes);
    MULTIPLY();
    a = a_next;
    b = b_next;
  }
}

MT_WITH_TILES void begin(const float* c, size_t row_bytes, bool first) {
  if (first) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    return;
  }
  const char* lower = reinterpret_cast<const char*>(c) + 16 * row_bytes;
  _tile_loadd(0, c, row_bytes);
  _tile_loadd(1, c + 16, row_bytes);
  _tile_loadd(2, lower, row_bytes);
  _tile_loadd(3, lower + 64, row_bytes);
}

MT_WITH_TILES void end(float* c, size_t row_bytes) {
  char* lower = reinterpret_cast<char*>(c) + 16 * row_bytes;
  _tile_stored(0, c, row_bytes);
  _tile_stored(1, c + 16, row_bytes);
  _tile_stored(2, lower, row_bytes);
  _tile_stored(3, lower + 64, row_bytes);
}

MT_WITH_TILES void multiply_panels(const TileRegion& region, const char* a, const char* b, float* c,
                                   int64_t c_row, bool first) {
  const size_t row_bytes = static_cast<size_t>(c_row) * sizeof(float);
  begin(c, row_bytes, first);
  const int64_t steps = steps_of(region.terms);
  region.parts == 1 ? multiply_rounded(a, b, steps) : multiply_split(a, b, steps);
  end(c, row_bytes);
}

// At an edge the result is too small for whole tiles.
MT_WITH_TILES void multiply_edge(const TileRegion& region, const char* a, const char* b, float* c,
                                 int64_t rows, int64_t columns) {
  alignas(64) float whole[tile_panel_rows * tile_panel_rows];
  const size_t bytes = static_cast<size_t>(columns) * sizeof(float);
  if (!region.first) {
    std::memset(whole, 0, sizeof whole);
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(whole + i * tile_panel_rows, c + i * region.c_row, bytes);
    }
  }
  multiply_panels(region, a, b, whole, tile_panel_rows, region.first);
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(c + i * region.c_row, whole + i * tile_panel_rows, bytes);
  }
}

MT_WITH_TILES void multiply(const TileRegion& region, const char* a, const char* b, int64_t row,
                            int64_t column, int64_t rows, int64_t columns) {
  float* const c = region.c + row * region.c_row + column;
  if (rows == tile_panel_rows && columns == tile_panel_rows) {
    multiply_panels(region, a, b, c, region.c_row, region.first);
  } else {
    multiply_edge(region, a, b, c, rows, columns);
  }
}

}  // namespace

MT_WITH_TILES void multiply_by_tiles(const TileRegion& region) {
  const Configuration configuration;
  _tile_loadconfig(&configuration);
  for_panels(region, multiply);
  _tile_release();
}

}  // namespace mt::cpu

#else
namespace mt::cpu {
void multiply_by_tiles(const TileRegion&) {}  // nobody calls it where there is no unit
}  // namespace mt::cpu
#endif
