// SPDX-License-Identifier: Apache-2.0
// Operands as both matrix units read them, and their inner loops.
//
// A panel is 32 rows of an operand over a block of k, as a sequence of steps of 32 terms; each step
// has, for each part of the numbers, two tiles of 16 rows. A tile of the left operand has a row's
// 32 terms in 64 bytes; one of the right operand has pairs of terms: a line is terms 2 i and 2 i +
// 1 of all 16 rows (columns of the result). What is missing at an edge is zero. If the operands are
// bfloat16 already, the two numbers of each pair are exchanged in both operands, so that a unit
// that takes the upper one first adds a sum's products in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/operand.h"
#include "ops/bfloat16_split.h"

namespace mt::cpu {

constexpr int64_t tile_panel_rows = 32, step_terms = 32;
constexpr int64_t tile_bytes = 1024;

constexpr int64_t steps_of(int64_t terms) { return (terms + step_terms - 1) / step_terms; }
// With `parts` numbers of bfloat16 for each number.
constexpr int64_t tile_panel_bytes(int64_t terms, int parts) {
  return steps_of(terms) * parts * 2 * tile_bytes;
}

// A mask of the first `count` of 16 lanes.
constexpr uint16_t first_lanes(int64_t count) {
  return static_cast<uint16_t>((1u << std::clamp<int64_t>(count, 0, 16)) - 1);
}

// Whether numbers of bfloat16 along an axis are packed in vectors even where they are parts of
// lines, as in sliding windows.
inline bool lies_in_runs(const Axis& axis) { return axis.stride() == 1 || axis.stride() == 2; }

struct PackedBlock {
  const MatrixOperand* x;  // of float32, or of bfloat16 in one part
  const void* data;        // where the batch entry begins
  int64_t row_begin, row_end, k_begin, k_end;
  bool right;
  int parts;  // 1: rounded; 3: the sum of the parts is the number
  char* out;  // panels, one after the other
};
Magnitudes pack_tiles(const PackedBlock& block);

// A region of the result, [rows, columns], over one block of k.
struct TileRegion {
  const char *a, *b;         // panels of both operands
  int64_t a_panel, b_panel;  // bytes from one to the next
  int64_t terms;
  int parts;
  float* c;
  int64_t c_row, rows, columns;
  bool first;  // the first block of k: c is written, not added to
  // For the last block, by pairs only: where the sums go as bfloat16, instead of to c.
  uint16_t* rounded = nullptr;
  int64_t rounded_row = 0;
};
void multiply_by_tiles(const TileRegion& region);
void multiply_by_pairs(const TileRegion& region);  // in one part

// Calls multiply(region, a, b, row, column, rows, columns) for all pairs of panels.
template <class F>
void for_panels(const TileRegion& region, F&& multiply) {
  const char* a = region.a;
  for (int64_t row = 0; row < region.rows; row += tile_panel_rows, a += region.a_panel) {
    const int64_t rows = std::min(tile_panel_rows, region.rows - row);
    const char* b = region.b;
    for (int64_t column = 0; column < region.columns; column += tile_panel_rows) {
      const int64_t columns = std::min(tile_panel_rows, region.columns - column);
      multiply(region, a, b, row, column, rows, columns);
      b += region.b_panel;
    }
  }
}

}  // namespace mt::cpu
