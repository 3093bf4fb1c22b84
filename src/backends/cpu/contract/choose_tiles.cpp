// SPDX-License-Identifier: Apache-2.0
// Into which tiles a contraction is cut, and in which order threads take them.
#include <algorithm>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/lanes.h"
#include "backends/cpu/contract/micro_tile.h"
#include "backends/cpu/contract/packing_costs.h"
#include "backends/cpu/contract/rows_in_lanes.h"
#include "backends/cpu/contract/schedule.h"

namespace mt::cpu {
namespace {

// The least arithmetic that makes a tile worth handing to a thread; the same if it packs its b.
constexpr double tile_flops = 0.5e6, packing_flops = 5e6;
// The most rows that the kernel takes together. Where there are no more, b is read only once and
// not packed, and a tile has up to read_columns columns.
constexpr int64_t sliver_rows = 12, read_columns = 1024;
// A tile that packs both operands and has fewer rows and columns than this is cut further only
// while tiles are fewer than threads.
constexpr int64_t repays_cutting = 384;
// The most rows of a wide tile that is rounded afterwards, as its sums lie in scratch.
constexpr int64_t rounded_rows = 480;
// A tile over sliding windows that are read in place may be wider, up to this many results.
constexpr int64_t window_results = 32 * 1024;
// A b of at most this many bytes may be read whole by every thread.
constexpr int64_t shared_bytes = 512 * 1024;
// Where only b is packed, tiles of columns_beside_rows columns leave more of the second-level cache
// to a. They pay if there is more than one block of terms or, on one thread, if a tile would pack
// fills_cache bytes or more.
constexpr int64_t columns_beside_rows = 128, fills_cache = 1024 * 1024;
// If each thread has this many rows of a tall a, it takes all their columns and packs all of b:
// other steps that go by rows have left them, or will look for them, in that core's caches.
constexpr int64_t repays_packing = 1024;
// The fewest rows of a tile that has all columns.
constexpr int64_t fewest_whole_rows = 48;
// Rows of a tile of Way::lanes: how many its kernel takes together, the fewest worth handing out,
// and the most if the tile is rounded afterwards, as its sums then lie in scratch.
constexpr int64_t lane_rows = 4, fewest_lane_rows = 16, rounded_lane_rows = 4096;
constexpr int64_t far_lane_rows = 64;  // whose pages are still known when the next panels are read
constexpr int64_t fewest_strip_rows = 4 * vector_floats;  // if rows are neighbours: some vectors

// Whether a vector is as long as a line of memory. With shorter ones multiply-adds take twice as
// long, so that packed data arrives in time even from farther away.
bool fills_lines(Dtype sum) {
  return strided_kernels(sum).lanes * int64_t(size_of(sum)) == cache_line;
}

}  // namespace

// Whole lines; several tiles for each thread.
void Schedule::choose_lines(double flops) {
  const int64_t worth = static_cast<int64_t>(flops / tile_flops);
  const int64_t wanted = std::clamp<int64_t>(worth, threads, tiles_per_thread * threads);
  const int64_t parts =
      std::max(divide_up(wanted, std::max<int64_t>(batch, 1)), divide_up(n, window_results));
  rows = m;
  columns = divide_up(lines.height, std::min(parts, lines.height)) * lines.width;
}

// Bands of images, and all outputs or some of them.
void Schedule::choose_bands() {
  columns = std::min(filtering.band(), n);
  // Where the weight is larger than the tiles, each thread keeps to its own outputs: no other
  // then reads their weights, though every thread transforms the tiles anew. Outputs are also
  // divided where there are fewer bands than threads.
  const int64_t blocks = divide_up(m, filtered_outputs);
  const int64_t all_tiles = batch * divide_up(filtering.lines, 2) * filtering.across;
  order.parts_outermost = threads > 1 && filtering.outputs > all_tiles && blocks >= threads;
  join_images(batch, order.parts_outermost ? 1 : threads, &filtering);
  const int64_t bands =
      std::max<int64_t>(divide_up(batch, filtering.images) * divide_up(n, columns), 1);
  const int64_t wanted = order.parts_outermost ? threads : divide_up(int64_t{threads}, bands);
  rows = divide_up(blocks, std::min(blocks, wanted)) * filtered_outputs;
  if (order.parts_outermost) order.parts = divide_up(m, rows);
}

// Only the longer dimension is cut.
void Schedule::choose_lane_tiles(const MatrixOperand& left, const MatrixOperand& right) {
  const MatrixOperand& from = m >= n ? left : right;
  int64_t& many = m >= n ? rows : columns;
  const int64_t entries = std::max<int64_t>(batch * panels, 1);
  const int64_t parts = std::max<int64_t>(1, tiles_per_thread * threads / entries);
  const LaneStrips strips(from, std::min(m, n), sum);
  if (threads > 1 && strips.possible && !strips.near) {
    // Strips as wide as possible but, if they are few, equally many for each thread.
    int64_t all = divide_up(many, strips.columns) * entries;
    if (all < tiles_per_thread * threads) all = round_up(all, threads);
    many = round_up(divide_up(many, divide_up(all, entries)), order_lanes);
  } else if (threads > 1) {
    const int64_t fewest = strips.possible ? fewest_strip_rows : fewest_lane_rows;
    many = std::max(fewest, round_up(divide_up(many, parts), lane_rows));
  }
  const int64_t bytes = std::max(m, n) * k * static_cast<int64_t>(size_of(from.dtype));
  const bool even = from.rows.uniform() && from.k.uniform();
  order.panels_innermost = panels > 1 && even && !strips.possible && bytes > second_cache;
  if (order.panels_innermost) many = std::min(many, far_lane_rows);
  if (rounded) many = std::min(many, rounded_lane_rows);
}

void Schedule::choose_tiles(const MatrixOperand& left, const MatrixOperand& right, double flops,
                            bool replaces_b) {
  const int64_t column_unit = sum == Dtype::float64 ? 32 : 64, row_unit = 6;
  int64_t most = most_block_columns(size_of(sum));
  if (b_in_place) most = std::max(most, window_results / rows);
  const bool floating = way != Way::exact;
  const bool in_place = floating && reads_b_in_place(right, sum, m, n, panel);
  const bool shared = in_place && !b_in_place && k * n * int64_t(size_of(sum)) <= shared_bytes;
  if ((in_place && m <= sliver_rows) || shared) most = read_columns;
  if (columns > most) columns = round_up(divide_up(columns, divide_up(columns, most)), column_unit);
  const int64_t most_rows = rounded_rows * std::max<int64_t>(1, column_unit / columns);
  if (rounded && rows > most_rows) {
    rows = round_up(divide_up(rows, divide_up(rows, most_rows)), row_unit);
  }
  if (way == Way::short_windows) return;
  const int64_t rows_at_most = rows, columns_at_most = columns;
  const bool packs_b = floating && !reads_b_in_place(right, sum, rows, columns, panel);
  const bool a_in_place = reads_a_in_place(left, sum, rows, panel);
  const bool high = packs_b && a_in_place, packs_both = packs_b && !a_in_place;
  const int64_t terms = std::min(k, panel);
  const bool blocks = terms > block_k;
  const int64_t packed = columns * std::min(block_k, terms) * int64_t(size_of(sum));
  const bool fills = packed >= fills_cache && fills_lines(sum);
  if (high && (threads == 1 ? fills : blocks) && columns >= 2 * columns_beside_rows) {
    // With up to most_block_k terms, two panels run in a single block.
    columns = terms <= most_block_k ? 2 * column_unit : columns_beside_rows;
  }
  if (threads == 1) return;
  // Several tiles for each thread, each worth handing out. Where every tile packs its columns of b,
  // which costs more than reading its rows of a again, tiles are higher than wide. Where it packs
  // both operands, tiles are square, and only cut further while there are too few of them.
  const int64_t worth = static_cast<int64_t>(flops / (packs_b ? packing_flops : tile_flops));
  const int64_t wanted = std::clamp<int64_t>(worth, threads, tiles_per_thread * threads);
  // Packed columns of a single block of terms are kept for the next tile, and then wide tiles read
  // less of a. With more blocks every tile packs its columns anew, and tiles that are cut by
  // columns alone pack nothing twice.
  const int64_t highest = blocks ? 8 : 1;
  const bool by_rows = !packs_b && k * n * int64_t(size_of(sum)) <= shared_bytes;
  const auto enough = [&] {
    const int64_t made = batch * panels * tiles();
    if (packs_both && made >= threads && std::max(rows, columns) < repays_cutting) return true;
    return made >= wanted || (rows <= row_unit && columns <= column_unit);
  };
  // An epilogue takes a tile of whole rows all at once.
  const int64_t parts = std::min(tiles_per_thread, m / (threads * fewest_whole_rows));
  if (shared && by_rows && columns >= n && parts > 0 && !enough()) {
    rows = divide_up(m, parts * threads);
    order.parts = divide_up(m, rows);
    return;
  }
  // All tiles that share columns transpose them anew, so columns are cut before rows.
  const bool near_rows = m * k * int64_t(size_of(sum)) <= shared_bytes;
  const bool turns = high && transposed && near_rows && !enough();
  // Unless the rows are updated later: rows that only one core has read are written several times
  // as fast, so each thread has its own rows and transposes all columns, if that takes
  // comparatively little.
  if (turns && replaces_b && m >= 2 * turning * threads) {
    rows = divide_up(m, threads);
    columns = std::min(columns, column_unit);
    order.parts = divide_up(m, rows);
    return;
  }
  if (turns && columns <= column_unit && columns > column_unit * 3 / 4) {
    columns = column_unit / 2;
  }
  while (!enough()) {
    const int64_t few = packs_both ? columns : high ? highest * columns : columns / 2;
    // With few columns one unit more or less is much: 130 would be cut into 128 and 2.
    const bool uneven = packs_both && columns < 4 * column_unit && columns % (2 * column_unit) != 0;
    const bool cuts_rows = rows > row_unit && (rows >= few || (uneven && rows > 2 * row_unit));
    const int64_t half = round_up(divide_up(rows, 2), row_unit);
    // With so few rows a tile would read b in place, though all rows together repay packing it.
    const bool unpacks =
        packs_b && columns > column_unit && reads_b_in_place(right, sum, half, columns, panel);
    if (unpacks && batch * panels * tiles() >= 2 * threads) break;
    if ((cuts_rows && !unpacks) || columns <= column_unit) {
      rows = half;
    } else {
      columns = round_up(divide_up(columns, 2), column_unit);
    }
  }
  // Low tiles are better of equal height than of whole slivers.
  if (rows < 16 * row_unit) rows = divide_up(m, divide_up(m, rows));
  const bool tall = high && batch * panels == 1 && divide_up(m, rows) % threads == 0 &&
                    m >= std::max(2 * n, repays_packing * threads);
  if (floating && batch * panels == 1 && !tall) {
    even_out(left, right, by_rows, rows_at_most, columns_at_most);
  }
  if (by_rows) {
    order.parts = divide_up(m, rows);
  } else if (tall) {
    order.parts = threads;
  }
}

}  // namespace mt::cpu
