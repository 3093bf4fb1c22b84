// SPDX-License-Identifier: Apache-2.0
// A part of a contraction's result, and what is done with it when it is final.
#pragma once

#include <cstdint>

namespace mt::cpu {

struct Tile {
  int64_t batch, row_begin, row_end, column_begin, column_end;
  const void* passing = nullptr;  // where its rows lie, if not in their place in the result
};

// Called once for each tile of the result when it is final, on the thread that made it and while
// it is still in cache. Tiles are disjoint and cover the result; columns are often all of [0, n).
struct Epilogue {
  void (*run)(void* context, const Tile& tile);
  void* context;
  // Instead, where a tile's transpose is made (PreparedContraction::turned_columns()): works on its
  // values, [columns, rows] of the tile, before they are turned to the result.
  void (*run_turned)(void* context, const Tile& tile, void* values) = nullptr;
};

}  // namespace mt::cpu
