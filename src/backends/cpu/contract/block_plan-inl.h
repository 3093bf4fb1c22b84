// SPDX-License-Identifier: Apache-2.0
// How one thread computes a tile: the panels and slivers that it is cut into, how many terms run at
// a time, and what of the operands is packed. No value depends on any of it.
#if defined(MT_CONTRACT_BLOCK_PLAN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_BLOCK_PLAN_INL_H
#undef MT_CONTRACT_BLOCK_PLAN_INL_H
#else
#define MT_CONTRACT_BLOCK_PLAN_INL_H
#endif

#include <algorithm>
#include <cstdlib>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/find_kernel-inl.h"
#include "backends/cpu/contract/number.h"
#include "base/rounding.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// If a b that is read in place spans at least this much, only few terms of each panel run before
// the next one, so that memory is read in order; nearby, that would only begin and end more tiles.
constexpr int64_t distant_bytes = 3 * 1024 * 1024;
constexpr int64_t distant_page_bytes = 1536 * 1024;  // where its rows are pages apart
// This much of such a b passes at a time: enough to repay beginning and ending its tiles, and
// little enough that the second-level cache holds it beside what is fetched for the next terms. The
// fewest pass where several slivers read b and its rows are pages apart, as lines share few sets.
inline int64_t far_bytes() { return (small_second_cache ? 192 : 384) * 1024; }
constexpr int64_t fewest_far_terms = 32, most_far_terms = 96;
// Where rows of b are pages apart and slivers are many, the first-level cache does not keep a panel
// for all of them; then this much of b passes at a time and stays in the second-level cache.
constexpr int64_t far_page_bytes = 256 * 1024, fewest_page_terms = 16, most_page_terms = 128;
// Bytes of a packed b where a is packed as well, from rows that are pages apart: the second-level
// cache also has to hold the lines that a comes from.
constexpr int64_t packed_beside_a = 512 * 1024;

// Rows of a that are at least this long are fetched ahead by the processor itself, which does it
// better, unless b comes from far away as well.
constexpr int64_t long_row_bytes = 28 * 64;

// The rows of a tile, cut into as few slivers as the kernels' height allows. They differ by at most
// a row, or a line of windows if they consist of these, as low kernels leave multipliers idle.
struct Slivers {
  Slivers(int64_t rows, int64_t most, int64_t line)
      : count(divide_up(rows, most)),
        least(rows / line / count),
        higher(rows / line - count * least),
        line(line) {}
  int64_t first_row(int64_t sliver) const {
    return (sliver * least + std::min(sliver, higher)) * line;
  }
  int64_t rows(int64_t sliver) const { return first_row(sliver + 1) - first_row(sliver); }

  int64_t count;
  int64_t least, higher;  // lines of a sliver, and how many slivers (the first ones) have one more
  int64_t line;           // rows of a line
};

// The length of the lines of windows that a tile's rows form, if these have a kernel; else 0.
template <class T>
int64_t line_of_windows(const Block& block, int64_t columns) {
  const Axis& rows = block.a->rows;
  if (rows.rank < 2 || rows.stride() != 1 || columns > lanes_of<T>) return 0;
  const int64_t width = rows.sizes[rows.rank - 1], begin = block.tile.row_begin,
                end = block.tile.row_end;
  const bool whole = has_lines_kernel<T>(width) && begin % width == 0 && end % width == 0;
  const bool in_place =
      reads_a_in_place(*block.a, dtype_of<T>, end - begin, block.k_end - block.k_begin);
  return whole && in_place ? width : 0;
}

template <class T>
struct BlockPlan {
  static constexpr int64_t lanes = lanes_of<T>, widest = most_vectors * lanes;

  explicit BlockPlan(const Block& block);
  // Chooses how the operands are read or packed for `count` terms.
  void choose_packing(const Block& block, int64_t count);

  int64_t rows, columns;
  bool gaps;      // between the columns of a panel of b, which is read where it lies
  bool far;       // b is read in place, by panels, and lies in no cache
  int64_t panel;  // columns
  int64_t line;   // length of the lines of windows that slivers consist of; 0: of single rows
  int64_t most;   // rows of a sliver
  Slivers slivers;
  int64_t group = 1;  // slivers that run together
  int64_t terms = 0;  // the most of a block
  bool streamed;      // c is written past the caches
  bool passes;        // each group of slivers writes c where the first one did

  bool a_in_place = true, b_in_place = true;
  bool overlaps = false;       // the last panel of b begins early enough to have whole vectors
  bool indexed = false;        // the kernel looks up a, and b unless it is packed, in tables
  bool along_slivers = false;  // each sliver meets all panels before the next one does
  bool packs_along = false;    // the first sliver packs b as it goes
  bool pairs_a = false;        // slivers are packed two by two
  bool fetches_a = false;      // the next sliver is fetched from where it lies
  bool b_stays_near = false;   // a sliver finds what it reads of b where the previous one read it
  bool b_is_foreseen = false;  // the hardware fetches b in time

 private:
  bool is_distant(const Block& block) const;
  bool is_far(const Block& block) const;
  bool repays_high_slivers(const Block& block) const;
  int64_t most_panel(const Block& block) const;
  int64_t most_terms(const Block& block) const;
};

template <class T>
BlockPlan<T>::BlockPlan(const Block& block)
    : rows(block.tile.row_end - block.tile.row_begin),
      columns(block.tile.column_end - block.tile.column_begin),
      gaps(block.b->dtype == dtype_of<T> && block.b->rows.rank > 1 &&
           reads_columns_in_place(*block.b, rows)),
      far(!gaps && is_far(block)),
      panel(most_panel(block)),
      line(gaps ? 0 : line_of_windows<T>(block, columns)),
      most(line > 0 ? line * lines_for(line) : rows_for(static_cast<int>(panel / lanes))),
      slivers(rows, most, std::max<int64_t>(line, 1)) {
  terms = most_terms(block);
  passes = block.passes && block.k_end - block.k_begin <= terms;
  // Only sums that no later block reads again go past the caches, and only whole aligned vectors.
  constexpr int64_t aligned = lanes * sizeof(T);
  streamed = block.streamed && block.k_end - block.k_begin <= terms && !gaps && !far &&
             columns % lanes == 0 && block.c_row % lanes == 0 &&
             reinterpret_cast<uintptr_t>(block.c) % aligned == 0;
}

template <class T>
bool BlockPlan<T>::is_distant(const Block& block) const {
  const int64_t k = block.k_end - block.k_begin;
  const int64_t step = std::abs(block.b->k.stride()) * int64_t(sizeof(T));
  const int64_t least = pages_apart(step) ? distant_page_bytes : distant_bytes;
  return block.b->k.uniform() && k * step >= least &&
         reads_b_in_place(*block.b, dtype_of<T>, rows, columns, k);
}

// Where the second-level cache is small and the last one holds b, or b's rows are pages apart,
// several slivers take less time if each meets all panels of few terms before the next one does.
template <class T>
bool BlockPlan<T>::is_far(const Block& block) const {
  const int64_t step = block.b->k.stride() * int64_t(sizeof(T));
  const bool one = rows <= rows_for(most_vectors), few = rows <= 2 * rows_for(most_vectors);
  const bool held = pages_apart(step) || block.b->k.size * step <= last_cache;
  if (small_second_cache && held && !one) return false;
  return (few || !pages_apart(step)) && is_distant(block);
}

// Whether a b that is read in place passes in narrow panels: beside twice as many rows as with wide
// ones, and so half as often. Where lines of b's rows share few sets of the first-level cache and
// evict each other, a pass takes as long for half the rows. Not measured where that cache has less
// room for the rows of a.
template <class T>
bool BlockPlan<T>::repays_high_slivers(const Block& block) const {
  const MatrixOperand& b = *block.b;
  const int64_t k = block.k_end - block.k_begin;
  if (HWY_TARGET != HWY_AVX3 || small_first_cache || columns <= widest) return false;
  if (rows <= rows_for(narrow_vectors) || b.rows.rank > 1 || !b.k.uniform() ||
      !reads_b_in_place(b, dtype_of<T>, rows, columns, k)) {
    return false;
  }
  const int64_t step = b.k.stride() * int64_t(sizeof(T));
  const int64_t low = divide_up(rows, rows_for(most_vectors));
  const int64_t high = divide_up(rows, rows_for(narrow_vectors));
  return pages_apart(step) ? low == 2 * high : step % 2048 != 0 || 2 * low > 3 * high;
}

template <class T>
int64_t BlockPlan<T>::most_panel(const Block& block) const {
  if (far) return std::min(narrow_vectors * lanes, round_up(columns, lanes));
  if (repays_high_slivers(block)) return lanes * narrow_vectors;
  // Looking up many rows in tables takes longer than multiplying them with a single vector.
  if (gaps) return lanes * vectors_for<T>(rows, widest, 2);
  const int64_t most = lanes * vectors_for<T>(rows, columns);
  const MatrixOperand &a = *block.a, &b = *block.b;
  const bool part = !loads_part_at_once && lanes < columns && columns < most;
  const bool even = part && b.k.uniform() && a.rows.uniform() && a.k.uniform();
  if (even && reads_b_in_place(b, dtype_of<T>, rows, columns, block.k_end - block.k_begin)) {
    return columns / lanes * lanes;  // a second panel overlaps it
  }
  return most;
}

template <class T>
int64_t BlockPlan<T>::most_terms(const Block& block) const {
  if (gaps) return most_block_k;
  if (far) {
    const bool pages = pages_apart(block.b->k.stride() * int64_t(sizeof(T)));
    if (pages && slivers.count > 1) return fewest_far_terms;
    return std::clamp(far_bytes() / int64_t(sizeof(T)) / columns, fewest_far_terms, most_far_terms);
  }
  if (is_distant(block)) {
    return std::clamp(far_page_bytes / int64_t(sizeof(T)) / columns, fewest_page_terms,
                      most_page_terms);
  }
  const int64_t k = block.k_end - block.k_begin;
  // Two panels of twice the terms take no more of a cache than four panels, and are packed once.
  if (columns <= 2 * panel) return most_block_k;
  const bool pages = block.a->k.uniform() && pages_apart(block.a->k.stride() * int64_t(sizeof(T)));
  const bool packs_pages = pages && !reads_a_in_place(*block.a, dtype_of<T>, rows, k);
  if (k <= block_k || !packs_pages) return block_k;
  return std::min(block_k, packed_beside_a / int64_t(sizeof(T)) / columns);
}

template <class T>
void BlockPlan<T>::choose_packing(const Block& block, int64_t count) {
  const MatrixOperand &a = *block.a, &b = *block.b;
  b_in_place = gaps || reads_b_in_place(b, dtype_of<T>, rows, columns, count);
  a_in_place = reads_a_in_place(a, dtype_of<T>, rows, count);
  fetches_a = b_in_place || count * int64_t(sizeof(T)) < long_row_bytes;
  // Kernels that read by strides load whole vectors, unless parts are as quick.
  bool whole = loads_part_at_once || columns % lanes == 0;
  const bool uneven = a_in_place && !(a.rows.uniform() && a.k.uniform());
  overlaps = !whole && !gaps && !uneven && b_in_place && b.k.uniform() && columns > panel;
  whole = whole || overlaps;
  indexed = gaps || uneven || (b_in_place && !(whole && b.k.uniform()));
  // With one panel each sliver is used once and need not stay in a cache for another panel.
  const bool several = columns > panel;
  pairs_a = !a_in_place && !indexed && several && a.dtype == dtype_of<T> && a.k.uniform() &&
            a.rows.uniform() && a.rows.stride() == 1;
  group = group_rows / most;
  if (pairs_a && pages_apart(a.k.stride() * int64_t(sizeof(T)))) {
    group = paired_rows * block_k / std::max(count, block_k) / (2 * most) * 2;
  }
  if (passes) {
    const int64_t rows_at_once = passing_bytes / (columns * int64_t(sizeof(T)));
    group = std::clamp<int64_t>(rows_at_once / most, 1, group);
  }
  // Slivers that are packed side by side would not stay, as their lines interleave. Nor are they to
  // stay where finding a panel (gaps) or bringing it (far) takes time: there the panel stays.
  along_slivers = pairs_a || (a_in_place && !gaps && several && !far);
  packs_along = !b_in_place && !indexed && whole && b.dtype == dtype_of<T> && b.k.uniform() &&
                b.rows.uniform() && b.rows.stride() == 1 && panel == widest &&
                slivers.first_row(1) >= fewest_packing_rows &&
                slivers.first_row(1) <= most_packing_rows;
  const int64_t passing = along_slivers ? columns : std::min(panel, columns);
  const int64_t step = b_in_place ? b.k.stride() : passing;
  b_is_foreseen = packed_is_foreseen && !b_in_place;
  b_stays_near = !indexed && (far || stays_near(count, step, slivers.first_row(1), sizeof(T)));
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
