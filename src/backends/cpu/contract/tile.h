// SPDX-License-Identifier: Apache-2.0
// A part of a contraction's result, and what is done with it when it is final.
#pragma once

#include <cstdint>

namespace mt::cpu {

struct Tile {
  int64_t batch, row_begin, row_end, column_begin, column_end;
  int64_t entries = 1;            // from `batch` on; if several, with all rows and columns of each
  const void* passing = nullptr;  // where its rows lie, if not in their place in the result
};

// How tiles lie in scratch before they are transposed into the result.
struct TurnedTiles {
  enum Kind : uint8_t {
    none,
    transposed,  // [columns of the result, rows]
    rows,        // of several batch entries: [rows of the result, their elements in all entries]
  };
  Kind kind = none;
  int64_t row_count = 0, columns = 0;
};

// Called once for each tile of the result when it is final, on the thread that made it and while
// it is still in cache. Tiles are disjoint and cover the result; columns are often all of [0, n).
struct Epilogue {
  void (*run)(void* context, const Tile& tile);
  void* context;
  // Called instead of run() where tiles are transposed into the result, before that happens
  // (PreparedContraction::turned_tiles()). The tile's columns are the rows of `values`.
  void (*run_turned)(void* context, const Tile& tile, void* values) = nullptr;
};

}  // namespace mt::cpu
