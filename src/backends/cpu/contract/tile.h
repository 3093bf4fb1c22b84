// SPDX-License-Identifier: Apache-2.0
// A part of a contraction's result, and what is done with it when it is final.
#pragma once

#include <cstdint>

namespace mt::cpu {

struct Tile {
  int64_t batch, row_begin, row_end, column_begin, column_end;
  const void* passing = nullptr;  // where its rows lie, if not in their place in the result
};

// Tiles that are turned to the result when they are done: of its transpose, or of the results of
// several entries abreast.
struct TurnedTiles {
  int64_t columns = 0;   // of the result's rows, or of all elements that share one; 0: none
  bool abreast = false;  // whether a tile's rows are the result's rows, not its columns

  explicit operator bool() const { return columns > 0; }
};

// Called once for each tile of the result when it is final, on the thread that made it and while
// it is still in cache. Tiles are disjoint and cover the result; columns are often all of [0, n).
struct Epilogue {
  void (*run)(void* context, const Tile& tile);
  void* context;
  // Instead, where tiles are turned to the result (PreparedContraction::turned_tiles()): works on
  // their values before that. The tile's columns are the rows of what it works on.
  void (*run_turned)(void* context, const Tile& tile, void* values) = nullptr;
};

}  // namespace mt::cpu
