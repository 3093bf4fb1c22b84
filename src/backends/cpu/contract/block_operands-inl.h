// SPDX-License-Identifier: Apache-2.0
// What the micro-kernel reads of both operands, over the terms at hand: where they lie, or packed.
#if defined(MT_CONTRACT_BLOCK_OPERANDS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_BLOCK_OPERANDS_INL_H
#undef MT_CONTRACT_BLOCK_OPERANDS_INL_H
#else
#define MT_CONTRACT_BLOCK_OPERANDS_INL_H
#endif

#include <algorithm>

#include "backends/cpu/contract/block_plan-inl.h"
#include "backends/cpu/contract/pack-inl.h"
#include "backends/cpu/contract/windows/gapped_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
class BlockOperands {
 public:
  BlockOperands(const Block& block, const BlockPlan<T>& plan)
      : block_(block),
        plan_(plan),
        a_(*block.a),
        b_(*block.b),
        packed_a_(static_cast<T*>(block.scratch)),
        packed_b_(packed_a_ +
                  packed_a_size(a_, dtype_of<T>, plan.rows, block.k_end - block.k_begin)),
        gapped_(b_.rows, block.tile.column_begin, plan.columns, plan.panel) {}

  // Begins terms [k_begin, k_begin + k_count), for which the plan has chosen the packing. Packs b,
  // unless the first sliver will do so or the previous tile has left it packed.
  void begin_terms(int64_t k_begin, int64_t k_count) {
    k_begin_ = k_begin;
    k_count_ = k_count;
    if (!plan_.b_in_place || plan_.indexed) b_.k.offsets(k_begin_, k_count_, b_ks_);
    if (!plan_.a_in_place || plan_.indexed) a_.k.offsets(k_begin_, k_count_, a_ks_);
    packed_step_ = 0;
    packs_along_ = false;
    if (plan_.b_in_place) {
      *block_.packed = {};  // packed rows may lie there now
      return;
    }
    const PackedColumns wanted{packed_b_,      block_.b_data, k_begin_,   k_count_,
                               first_column(), plan_.columns, plan_.panel};
    if (*block_.packed == wanted) return;
    *block_.packed = wanted;
    packs_along_ = plan_.packs_along;
    if (!packs_along_) pack_b();
  }

  // Whether the first sliver still has to pack b.
  bool packs_along() const { return packs_along_; }

  // Points `tile` at a group, slivers [begin, end), which is packed first if need be.
  void take_group(MicroTile<T>& tile, int64_t begin, int64_t end) {
    group_begin_ = begin;
    group_end_ = end;
    const int64_t row = plan_.slivers.first_row(begin);
    const int64_t rows = plan_.slivers.first_row(end) - row;
    tile.a_ks = a_ks_;
    tile.a_row = 1;
    tile.a_ahead = 0;
    if (plan_.pairs_a) {
      pack_pairs();
    } else if (!plan_.a_in_place) {
      pack_a(row, rows);
      group_a_ = packed_a_;
      tile.a_k = rows;
      if (!plan_.indexed) return;
      for (int64_t i = 0; i < rows; ++i) a_rows_[i] = i;
      tile.a_ks = packed_steps(rows);
    } else if (plan_.indexed) {
      group_a_ = static_cast<const T*>(block_.a_data);
      a_.rows.offsets(first_row() + row, rows, a_rows_);
    } else {
      tile.a_row = a_.rows.stride();
      tile.a_k = a_.k.stride();
      group_a_ = static_cast<const T*>(block_.a_data) + (first_row() + row) * tile.a_row +
                 k_begin_ * tile.a_k;
    }
  }

  // Points `tile` at a sliver of the group; meanwhile the next one is fetched if it comes soon.
  void take_sliver(MicroTile<T>& tile, int64_t sliver, bool next_is_soon) const {
    const Slivers& slivers = plan_.slivers;
    const int64_t group_row = slivers.first_row(group_begin_), row = slivers.first_row(sliver);
    if (plan_.indexed) {
      tile.a = group_a_;
      tile.a_rows = a_rows_ + (row - group_row);
    } else if (plan_.pairs_a) {
      const int64_t pair = sliver - (sliver - group_begin_) % 2, pair_row = slivers.first_row(pair);
      tile.a = packed_a_ + (pair_row - group_row) * k_count_ + row - pair_row;
      tile.a_k = pair_rows(pair);
    } else {
      tile.a = group_a_ + (row - group_row) * tile.a_row;
      tile.a_ahead = plan_.fetches_a && next_is_soon ? slivers.rows(sliver) * tile.a_row : 0;
    }
  }

  // Points `tile` at the panel of b that begins at `column`; returns how many columns it has. A
  // packed panel comes from the second-level cache and is fetched less far ahead than others. If
  // the last one overlaps the one before, it begins earlier, and `tile` has more columns.
  int64_t take_panel(MicroTile<T>& tile, int64_t column) {
    int64_t columns = std::min(plan_.panel, plan_.columns - column);
    tile.columns = columns;
    if (!plan_.b_in_place) {
      tile.b = packed_b_ + column * k_count_;
      tile.b_k = width(columns);
      tile.b_ahead = 4 * tile.b_k;
      if (plan_.indexed) tile.b_ks = packed_steps(tile.b_k);
      return columns;
    }
    tile.b = static_cast<const T*>(block_.b_data);
    tile.b_ks = b_ks_;
    tile.b_ahead = 0;
    if (!plan_.indexed) {
      tile.b_k = b_.k.stride();
      tile.b += k_begin_ * tile.b_k;
      tile.b_ahead = 16 * tile.b_k;
      if (plan_.far) fetch_next_terms(tile, column, columns);
    }
    if (!plan_.gaps) {
      if (plan_.overlaps) tile.columns = width(columns);
      tile.b += b_.rows.offset(first_column() + column + columns - tile.columns);
    } else {
      columns = gapped_.find(column);
      tile.b += gapped_.offset();
      tile.columns = gapped_.lanes_reached();
    }
    return columns;
  }

  // The same for a panel in place, for a kernel that packs it.
  void take_panel_to_pack(MicroTile<T>& tile, int64_t column) const {
    tile.b_k = b_.k.stride();
    tile.b = static_cast<const T*>(block_.b_data) + k_begin_ * tile.b_k +
             b_.rows.offset(first_column() + column);
    tile.b_ahead = 6 * tile.b_k;
    tile.packed = packed_b_ + column * k_count_;
  }

  GappedColumns<T>& gapped() { return gapped_; }

 private:
  static int64_t width(int64_t columns) { return round_up(columns, lanes_of<T>); }

  int64_t first_row() const { return block_.tile.row_begin; }
  int64_t first_column() const { return block_.tile.column_begin; }

  // Chooses what of b's next terms to fetch, as much as this panel has of the current ones: in
  // memory order if rows follow each other, which is fastest with a large first-level cache; else
  // the next terms of this panel.
  void fetch_next_terms(MicroTile<T>& tile, int64_t column, int64_t columns) const {
    const int64_t whole = width(plan_.columns);
    const bool pays = !small_first_cache || (small_second_cache && sizeof(T) == 8);
    const bool in_order = pays && tile.b_k >= plan_.columns && tile.b_k <= whole;
    tile.coming = static_cast<const T*>(block_.b_data) + (k_begin_ + k_count_) * tile.b_k +
                  first_column() + column * (in_order ? k_count_ : 1);
    tile.coming_step = in_order ? columns : tile.b_k;
  }

  void pack_b() {
    for (int64_t column = 0; column < plan_.columns; column += plan_.panel) {
      const int64_t used = std::min(plan_.panel, plan_.columns - column);
      int64_t columns[most_width];
      b_.rows.offsets(first_column() + column, used, columns);
      pack(b_.dtype, block_.b_data, columns, used, width(used), b_ks_, k_count_,
           packed_b_ + column * k_count_, b_.k.uniform() && b_.k.stride() == 1);
    }
  }

  // Packs the group's slivers side by side, [k_count, their rows], so that whole vectors are read.
  void pack_a(int64_t row, int64_t rows) {
    int64_t offsets[group_rows];
    a_.rows.offsets(first_row() + row, rows, offsets);
    pack(a_.dtype, block_.a_data, offsets, rows, rows, a_ks_, k_count_, packed_a_);
  }

  // Packs slivers two by two, each pair as [k_count, its rows], which stays in the first-level
  // cache while panels of b pass.
  void pack_pairs() {
    const int64_t step = a_.k.stride(), row = first_row() + plan_.slivers.first_row(group_begin_);
    int64_t rows[paired_rows], pairs = 0;
    for (int64_t i = group_begin_; i < group_end_; i += 2) rows[pairs++] = pair_rows(i);
    pack_groups(static_cast<const T*>(block_.a_data) + row + k_begin_ * step, step, rows, pairs,
                k_count_, packed_a_);
  }
  int64_t pair_rows(int64_t sliver) const {
    return plan_.slivers.first_row(std::min(sliver + 2, group_end_)) -
           plan_.slivers.first_row(sliver);
  }

  // The offsets along k of what is packed, for a kernel that reads tables.
  const int64_t* packed_steps(int64_t step) {
    if (packed_step_ != step) {
      for (int64_t k = 0; k < k_count_; ++k) packed_ks_[k] = k * step;
      packed_step_ = step;
    }
    return packed_ks_;
  }

  const Block& block_;
  const BlockPlan<T>& plan_;
  const MatrixOperand &a_, &b_;
  T* const packed_a_;  // [k_count, rows of a group], or pairs
  T* const packed_b_;  // panels of [k_count, panel]
  int64_t k_begin_ = 0, k_count_ = 0, packed_step_ = 0;
  bool packs_along_ = false;
  int64_t group_begin_ = 0, group_end_ = 0;  // the slivers at hand
  const T* group_a_ = nullptr;               // where their rows begin
  int64_t a_rows_[group_rows];
  int64_t a_ks_[most_block_k], b_ks_[most_block_k], packed_ks_[most_block_k];  // along k
  GappedColumns<T> gapped_;
};

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
