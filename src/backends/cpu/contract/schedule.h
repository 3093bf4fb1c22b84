// SPDX-License-Identifier: Apache-2.0
// How a contraction is cut up: which kernel runs, in which tiles, on how many threads, and what
// scratch that takes. All of it says who computes what; no value depends on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/filtering/filtering.h"
#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/tile.h"
#include "backends/cpu/contract/tile_order.h"
#include "backends/cpu/contract/windows/abreast.h"
#include "backends/cpu/contract/windows/image_lines.h"
#include "backends/cpu/contract/windows/same_windows.h"
#include "base/rounding.h"
#include "plan/contraction.h"

namespace mt::cpu {

constexpr size_t held_bytes = 128;

// The ways a product can go, which Schedule::choose_way() asks in this order. Two more come first
// (contract.cpp), which leave to these the batch entries whose values they refuse: the matrix unit
// (matrix_unit/tiled_product.h), and minimal filtering of a weight's gradient
// (filtering/filtered_weight.h). A small one that is exact or blocked has its kernels looked up
// once (small_product.h).
enum class Way : uint8_t {
  exact,          // integers, whose sums wrap, in any order (exact.h)
  lanes,          // along k: few rows or columns, many terms (lanes.h)
  filtering,      // bands, by minimal filtering: fewer products (filtering/filtering.h)
  image_lines,    // one row of weights over an image (windows/image_lines.h)
  abreast,        // small batch entries side by side (windows/abreast.h)
  short_windows,  // of b, in one tile (windows/windows-inl.h)
  blocked,        // all others, in tiles, for which is packed what vectors cannot read (blocked.h)
};

// What the plan around a contraction says of it.
struct Surroundings {
  const EntryParts* made = nullptr;  // of the entries of b, if an EntrySource makes them
  bool may_pass = false;    // nobody but the epilogue reads the result, whose rows may lie anywhere
  bool replaces_b = false;  // nobody else reads b, before its update by rows takes its place
};

struct Schedule {
  int64_t batch, m, n, k, panel, panels;
  Dtype sum;  // float32 or float64; of integers int32 or int64
  Way way;
  Abreast abreast;      // how entries are, if they are
  SameWindows same;     // of b, that need no padded copy, if there are lanes
  Filtering filtering;  // if bands are filtered
  ImageLines lines;     // of a row of weights, if that is the way
  bool transposed;  // the result's transpose is computed: m and n here, a and b in Run, exchanged
  bool b_in_place;  // b's columns are windows that need no packing, so no scratch
  bool rounded;     // tiles go through scratch: narrower than the sums, or transposed
  bool streamed;    // the result is larger than caches
  bool passes;      // of a tile's rows, few at a time lie where its first ones would
  int threads;
  int64_t rows, columns;  // of a tile
  TileOrder order;
  int64_t group;                               // batch entries whose slabs are in scratch together
  size_t slabs, thread_scratch, tile_scratch;  // bytes; slabs lie behind what threads have
  size_t held;  // where in a thread's scratch lies what it keeps: held_bytes, then an entry it made

  Schedule(const Contraction& c, int most_threads, const Surroundings& around = {});
  int64_t tiles() const { return grid(1).tiles(); }
  TileGrid grid(int64_t entries) const {
    return {entries, divide_up(m, rows), divide_up(n, columns), std::max<int64_t>(panels, 1)};
  }
  size_t scratch() const { return slabs + static_cast<size_t>(threads) * thread_scratch; }
  // Batch entries that are one tile each and have so few results that an epilogue had better go
  // over several of them at a time.
  int64_t finished_together() const;
  // All of some batch entries, as the caller sees them.
  Tile whole_entries(int64_t begin, int64_t end) const {
    return {begin, 0, transposed ? n : m, 0, transposed ? m : n, end - begin};
  }

 private:
  Way choose_way(const Contraction& c, const MatrixOperand& a, const MatrixOperand& b,
                 const EntryParts* made);
  void choose_lines(double flops);
  void choose_tiles(const MatrixOperand& left, const MatrixOperand& right, double flops,
                    bool replaces_b);
  // Cuts tiles otherwise, of at most so many rows and columns, if threads are estimated to be busy
  // unequally, or with packing the same again and again (even_out.cpp). `by_rows`: tiles follow
  // each other row by row.
  void even_out(const MatrixOperand& left, const MatrixOperand& right, bool by_rows,
                int64_t most_rows, int64_t most_columns);
};

}  // namespace mt::cpu
