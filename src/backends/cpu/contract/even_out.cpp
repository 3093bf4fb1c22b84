// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/packing_costs.h"
#include "backends/cpu/contract/schedule.h"

namespace mt::cpu {
namespace {

// With more tiles than this for each thread, none takes long enough for others to wait for it.
constexpr int64_t few_tiles = 8;
// Reading b once for a tile takes as long as computing this many of its rows.
constexpr int64_t reading_rows = 2;
// A thread's tile is cut into up to most_parts parts, so that others can take some if it comes
// late, but none with less arithmetic or fewer rows than these.
constexpr int64_t most_parts = 4, part_products = 2500 * 1000, fewest_part_rows = 48;
// With the new tiles, the longest share must take less than this part of its time before.
constexpr double worth_recutting = 0.93;

// What a tile's columns cost, counted in columns: the kernels' panels are four vectors, or what is
// left, and a panel of a single vector is a quarter slower.
int64_t cost_of_columns(int64_t columns, int64_t lanes) {
  const int64_t whole = round_up(columns, lanes);
  return whole % (4 * lanes) == lanes ? whole + lanes / 4 : whole;
}

}  // namespace

void Schedule::even_out(const MatrixOperand& left, const MatrixOperand& right, bool by_rows,
                        int64_t most_rows, int64_t most_columns) {
  if (tiles() > few_tiles * threads) return;
  const int64_t lanes = vector_floats * 4 / size_of(sum);
  // The work of the thread that has most, in products for each term. Each takes consecutive tiles.
  const auto longest_share = [&](int64_t tile_rows, int64_t tile_columns) {
    const int64_t high = divide_up(m, tile_rows), wide = divide_up(n, tile_columns);
    const bool packs_a = !reads_a_in_place(left, sum, tile_rows, panel);
    const bool packs_b = !reads_b_in_place(right, sum, tile_rows, tile_columns, panel);
    const int64_t a_costs = packs_a ? packing_rows : 0;
    const int64_t b_costs = !packs_b ? 0 : right.k.stride() == 1 ? turning : packing_lines;
    int64_t longest = 0;
    for (int64_t t = 0; t < threads; ++t) {
      int64_t share = 0, held = -1;
      for (int64_t i = high * wide * t / threads; i < high * wide * (t + 1) / threads; ++i) {
        const int64_t row = by_rows ? i / wide : i % high, column = by_rows ? i % wide : i / high;
        const int64_t own_rows = std::min(tile_rows, m - row * tile_rows);
        const int64_t own = std::min(tile_columns, n - column * tile_columns);
        const int64_t own_columns = cost_of_columns(own, lanes);
        share += (own_rows + reading_rows) * own_columns + own_rows * a_costs;
        if (column != held) share += own_columns * b_costs;
        held = column;
      }
      longest = std::max(longest, share);
    }
    return static_cast<double>(longest);
  };
  double best = worth_recutting * longest_share(rows, columns);
  int64_t best_rows = rows, best_columns = columns;
  // One tile for each thread.
  for (int64_t high = 1; high <= std::min<int64_t>(threads, m); ++high) {
    if (threads % high != 0) continue;
    const int64_t tile_rows = divide_up(m, high);
    const int64_t tile_columns = std::min(round_up(divide_up(n, threads / high), lanes), n);
    if (tile_rows > most_rows || tile_columns > most_columns) continue;
    const double share = longest_share(tile_rows, tile_columns);
    if (share >= best) continue;
    best = share;
    best_rows = tile_rows;
    best_columns = tile_columns;
  }
  if (best_rows == rows && best_columns == columns) return;
  // A thread's tile stays whole if each of its parts would pack b anew, as that costs more.
  const bool packs_b = !reads_b_in_place(right, sum, best_rows, best_columns, panel);
  const int64_t worth =
      std::min(best_rows * best_columns * k / part_products, best_rows / fewest_part_rows);
  rows = divide_up(best_rows, std::clamp<int64_t>(packs_b ? 1 : worth, 1, most_parts));
  columns = best_columns;
}

}  // namespace mt::cpu
