// SPDX-License-Identifier: Apache-2.0
// How a contraction is cut up: which kernel runs, in which tiles, on how many threads, and how much
// scratch that takes. A schedule only decides who computes what; no value depends on it.
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
// The most tiles wanted for each thread: several, so that others can take some if it comes late.
constexpr int64_t tiles_per_thread = 4;

// The ways to compute a product, in the order in which Schedule::choose_way() considers them.
// Before these, contract.cpp tries the matrix unit (matrix_unit/strip_product.h, tiled_product.h)
// and minimal filtering of a weight's gradient (filtering/filtered_weight.h); what they refuse
// because of its values is computed in one of the ways below. A small product that is exact or
// blocked has its kernels looked up only once (small_product.h).
enum class Way : uint8_t {
  exact,          // integers, whose sums wrap and so allow any order (exact.h)
  lanes,          // sums in 16 lanes: few rows or columns, many terms (lanes.h)
  filtering,      // bands of images, with fewer products: Winograd (filtering/filtering.h)
  image_lines,    // one row of weights over an image (windows/image_lines.h)
  abreast,        // small batch entries side by side (windows/abreast.h)
  short_windows,  // a few rows times short windows of b, in one tile (windows/windows-inl.h)
  blocked,        // all others, in tiles; packs what vectors cannot read (blocked.h)
};

// What the surrounding plan tells a contraction.
struct Surroundings {
  const EntryParts* made = nullptr;  // the parts of b's entries, if an EntrySource makes them
  bool may_pass = false;    // only the epilogue reads the result, so its rows may lie anywhere
  bool replaces_b = false;  // nobody else reads b before its update, row by row, replaces it
};

struct Schedule {
  int64_t batch, m, n, k, panel, panels;
  Dtype sum;  // float32 or float64; for integers int32 or int64
  Way way;
  Abreast abreast;      // how entries lie side by side, if they do
  SameWindows same;     // windows of b that need no padded copy, if the way is lanes
  Filtering filtering;  // if bands are filtered
  ImageLines lines;     // if the way is image_lines
  bool transposed;  // the result's transpose is computed: m, n here and a, b in TileWork exchanged
  bool b_in_place;  // b's columns are windows that need no packing and so no scratch
  bool rounded;     // tiles go through scratch: the result is narrower than the sums, or transposed
  bool streamed;    // the result is larger than the caches
  bool passes;      // only the epilogue reads the result; later rows of a tile overwrite its first
  int threads;
  int64_t rows, columns;  // of a tile
  TileOrder order;
  int64_t group;                               // batch entries whose slabs are in scratch together
  size_t slabs, thread_scratch, tile_scratch;  // bytes; slabs lie after the threads' scratch
  size_t held;  // offset of what a thread keeps in its scratch: held_bytes, then an entry it made

  Schedule(const Contraction& c, int most_threads, const Surroundings& around = {});
  int64_t tiles() const { return grid(1).tiles(); }
  TileGrid grid(int64_t entries) const {
    return {entries, divide_up(m, rows), divide_up(n, columns), std::max<int64_t>(panels, 1)};
  }
  size_t scratch() const { return slabs + static_cast<size_t>(threads) * thread_scratch; }
  // How many batch entries an epilogue or image lines take at a time: several if each is a tile
  // with few results, else one.
  int64_t entries_together() const;
  // All results of batch entries [begin, end), as the caller sees them.
  Tile whole_entries(int64_t begin, int64_t end) const {
    return {begin, 0, transposed ? n : m, 0, transposed ? m : n, end - begin};
  }

 private:
  // choose_way.cpp
  Way choose_way(const Contraction& c, const MatrixOperand& a, const MatrixOperand& b,
                 const EntryParts* made);
  bool transpose_is_easier(const MatrixOperand& a, const MatrixOperand& b) const;
  // choose_tiles.cpp; the tile is the whole result before
  void choose_lines(double flops);
  void choose_bands();
  void choose_lane_tiles(const MatrixOperand& left, const MatrixOperand& right);
  void choose_tiles(const MatrixOperand& left, const MatrixOperand& right, double flops,
                    bool replaces_b);
  // Recuts tiles, to at most `most_rows` x `most_columns`, if it estimates that threads would be
  // busy unequally or pack the same data again and again (even_out.cpp). `by_rows`: tiles follow
  // each other row by row.
  void even_out(const MatrixOperand& left, const MatrixOperand& right, bool by_rows,
                int64_t most_rows, int64_t most_columns);
};

}  // namespace mt::cpu
