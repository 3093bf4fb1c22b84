// SPDX-License-Identifier: Apache-2.0
// Columns of b that lie in lines with gaps between them, as the positions of sliding windows do:
// vectors read the gaps as well, and leave what they find there out of c.
#if defined(MT_WINDOWS_GAPPED_COLUMNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_GAPPED_COLUMNS_INL_H
#undef MT_WINDOWS_GAPPED_COLUMNS_INL_H
#else
#define MT_WINDOWS_GAPPED_COLUMNS_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cpu/contract/micro_kernel-inl.h"
#include "backends/cpu/contract/operand.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
class GappedColumns {
 public:
  // `count` columns from `first` on, in panels of `panel` lanes.
  GappedColumns(const Axis& columns, int64_t first, int64_t count, int64_t panel)
      : columns_(columns), first_(first), count_(count), panel_(panel) {}

  // Finds the panel that begins at `column`; returns how many columns it has. Panels are asked for
  // in order, from the first.
  int64_t find(int64_t column) {
    const int64_t inner = columns_.sizes[columns_.rank - 1];
    if (column == 0) {
      in_line_ = first_ % inner;
      line_ = columns_.offset(first_) - in_line_;
    }
    offset_ = line_ + in_line_;
    uint64_t lanes_kept = 0;
    int64_t at = column;
    run_count_ = 0;
    while (at < count_) {
      const int64_t lane = line_ + in_line_ - offset_;
      if (lane >= panel_) break;
      const int64_t count = std::min({inner - in_line_, panel_ - lane, count_ - at});
      runs_[run_count_++] = {lane, at - column, count};
      lanes_kept |= ~uint64_t{0} >> (64 - count) << lane;
      at += count;
      in_line_ += count;
      if (in_line_ == inner) {
        in_line_ = 0;
        line_ = columns_.rank == 2 ? line_ + columns_.strides[0] : columns_.offset(first_ + at);
      }
    }
    int64_t to = 0;
    for (int64_t v = 0; v < panel_ / lanes; ++v) {
      const uint64_t mask = lanes_kept >> (v * lanes) & (~uint64_t{0} >> (64 - lanes));
      KeptLanes& kept = kept_[v];
      std::memcpy(kept.mask, &mask, sizeof(mask));
      kept.to = to;
      kept.count = std::popcount(mask);
      if constexpr (!compresses_at_once) {
        hwy::MakeSigned<T> from[lanes] = {};
        for (int64_t lane = 0, at = 0; lane < lanes; ++lane) {
          if (mask >> lane & 1) from[at++] = static_cast<hwy::MakeSigned<T>>(lane);
        }
        std::memcpy(kept.from, from, sizeof(from));
      }
      to += kept.count;
    }
    return at - column;
  }

  // Of the current panel: where it begins in b, the lanes up to its last column, and those kept.
  int64_t offset() const { return offset_; }
  int64_t lanes_reached() const { return runs_[run_count_ - 1].lane + runs_[run_count_ - 1].count; }
  const KeptLanes* kept() const { return kept_; }

  // Copies its sums from c to rows of `panel` elements, spread out as its lanes are.
  void spread(const T* c, int64_t c_row, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t r = 0; r < run_count_; ++r) {
        std::copy_n(c + i * c_row + runs_[r].column, runs_[r].count,
                    spread_ + i * panel_ + runs_[r].lane);
      }
    }
  }
  const T* sums() const { return spread_; }

 private:
  static constexpr int64_t lanes = lanes_of<T>, widest = most_vectors * lanes;

  // Columns that lie one after the other in memory: from `column` of a panel, in its lanes from
  // `lane` on.
  struct Run {
    int64_t lane, column, count;
  };

  const Axis& columns_;
  const int64_t first_, count_, panel_;
  int64_t offset_ = 0, run_count_ = 0;
  int64_t in_line_ = 0, line_ = 0;  // the column after the current panel, and its line's offset
  Run runs_[widest];
  KeptLanes kept_[most_vectors];
  T spread_[most_rows * widest];  // of rows_for(V) rows and V vectors
};

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
