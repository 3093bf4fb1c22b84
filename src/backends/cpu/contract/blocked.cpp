// SPDX-License-Identifier: Apache-2.0
// A tile of the result, [rows, columns], in blocks of k: the block of b is packed into panels as
// wide as the micro-kernel, which stay in the second-level cache; then for each sliver of a few
// rows of a, which stays in the first-level cache, the micro-kernel runs over all panels. Where
// vectors can read b, the first sliver packs it as it goes. What needs no packing is read where it
// lies: a whose k is contiguous, a b that is small, close together or used by few rows, and sliding
// windows, whose packing would repeat each element.
#include "backends/cpu/contract/blocked.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/elementwise/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/blocked.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/contract/lines-inl.h"
#include "backends/cpu/contract/micro_kernel-inl.h"
#include "backends/cpu/contract/pack-inl.h"
#include "backends/cpu/contract/windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
class BlockRun {
 public:
  explicit BlockRun(const Block& block)
      : block_(block),
        a_(*block.a),
        b_(*block.b),
        rows_(block.tile.row_end - block.tile.row_begin),
        columns_(block.tile.column_end - block.tile.column_begin),
        gaps_(b_.dtype == dtype_of<T> && b_.rows.rank > 1 && reads_columns_in_place(b_, rows_)),
        panel_(lanes * vectors_for<T>(rows_, gaps_ ? widest : columns_)),
        packed_a_(static_cast<T*>(block.scratch)),
        packed_b_(packed_a_ + packed_a_size(a_, dtype_of<T>, rows_, block.k_end - block.k_begin)) {
    int64_t most = rows_for(static_cast<int>(panel_ / lanes));
    slivers_ = divide_up(rows_, most);
    least_rows_ = rows_ / slivers_;
    higher_slivers_ = rows_ - slivers_ * least_rows_;
    group_ = group_rows / most;
    const bool narrow = columns_ <= 2 * panel_;
    block_k_ = gaps_ ? most_block_k : streams_b() ? short_k() : narrow ? most_block_k : block_k;
    constexpr int64_t aligned = lanes * sizeof(T);
    streamed_ = block.streamed && block.k_end - block.k_begin <= block_k_ && !gaps_ &&
                columns_ % lanes == 0 && block.c_row % lanes == 0 &&
                reinterpret_cast<uintptr_t>(block.c) % aligned == 0;
  }

  void run() {
    const int64_t k = block_.k_end - block_.k_begin;
    if (gaps_ && rows_ == 1 && k <= most_line_k) return run_by_lines();
    if constexpr (joins_lines && sizeof(T) == 4) {
      const bool whole = rows_ == a_.rows.size && columns_ == b_.rows.size;
      if (whole && has_short_windows(a_, b_)) return run_by_windows();
    }
    const int64_t blocks = divide_up(k, block_k_);
    for (int64_t i = 0; i < blocks; ++i) {
      k_begin_ = block_.k_begin + k * i / blocks;
      k_count_ = block_.k_begin + k * (i + 1) / blocks - k_begin_;
      first_ = i == 0;
      last_ = i == blocks - 1;
      choose_what_is_packed();
      for (int64_t s = 0; s < slivers_; s += group_) {
        run_group(s, std::min(s + group_, slivers_));
      }
    }
    if (streamed_) hwy::FlushStream();
  }

 private:
  static constexpr int64_t lanes = lanes_of<T>;
  static constexpr int64_t widest = most_vectors * lanes;
  static constexpr int64_t streamed_span = 3 * 1024 * 1024, most_streamed_k = 128;

  // Columns that lie one after the other in memory: from `column` of a panel, in its lanes from
  // `lane` on.
  struct ColumnRun {
    int64_t lane, column, count;
  };

  void run_by_lines() {
    const int64_t k = block_.k_end - block_.k_begin;
    const int64_t row = a_.rows.offset(block_.tile.row_begin);
    T a[most_line_k];
    a_.k.offsets(block_.k_begin, k, a_ks_);
    b_.k.offsets(block_.k_begin, k, b_ks_);
    gather(a_.dtype, block_.a_data, &row, 1, 1, a_ks_, k, a);
    const Lines<T> lines{a, static_cast<const T*>(block_.b_data), b_ks_, k};
    run_lines(lines, b_.rows, block_.tile.column_begin, columns_, static_cast<T*>(block_.c));
    if (block_.epilogue != nullptr) block_.epilogue->run(block_.epilogue->context, block_.tile);
  }

#if HWY_TARGET == HWY_AVX3
  void run_by_windows() {
    run_windows(a_, static_cast<const float*>(block_.a_data), b_,
                static_cast<const float*>(block_.b_data), block_.k_begin, block_.k_end,
                static_cast<float*>(block_.c), block_.c_row);
    if (block_.epilogue != nullptr) block_.epilogue->run(block_.epilogue->context, block_.tile);
  }
#else
  void run_by_windows() {}
#endif

  void choose_what_is_packed() {
    direct_b_ = gaps_ || reads_b_in_place(b_, dtype_of<T>, rows_, columns_, k_count_);
    direct_a_ = reads_a_in_place(a_, dtype_of<T>, rows_, k_count_);
    const bool whole = loads_part_at_once || columns_ % lanes == 0;
    indexed_ = gaps_ || (direct_b_ && !(whole && b_.k.uniform())) ||
               (direct_a_ && !(a_.rows.uniform() && a_.k.uniform()));
    pairs_a_ = !direct_a_ && !indexed_ && columns_ > panel_ && a_.dtype == dtype_of<T> &&
               a_.k.uniform() && a_.rows.uniform() && a_.rows.stride() == 1;
    along_slivers_ = pairs_a_ || (direct_a_ && !gaps_ && columns_ > panel_);
    packs_along_ = !direct_b_ && !indexed_ && whole && b_.dtype == dtype_of<T> && b_.k.uniform() &&
                   b_.rows.uniform() && b_.rows.stride() == 1 && panel_ == widest &&
                   first_row(1) == packing_rows;
    if (!direct_b_ || indexed_) b_.k.offsets(k_begin_, k_count_, b_ks_);
    if (!direct_a_ || indexed_) a_.k.offsets(k_begin_, k_count_, a_ks_);
    packed_step_ = 0;
    if (direct_b_) {
      *block_.packed = {};  // packed rows may lie there now
      return;
    }
    const PackedColumns wanted{
        packed_b_, block_.b_data, k_begin_, k_count_, block_.tile.column_begin, columns_, panel_};
    if (*block_.packed == wanted) {
      packs_along_ = false;
      return;
    }
    *block_.packed = wanted;
    if (!packs_along_) pack_b();
  }

  void pack_b() {
    const int64_t first = block_.tile.column_begin;
    for (int64_t column = 0; column < columns_; column += panel_) {
      int64_t used = std::min(panel_, columns_ - column);
      int64_t columns[most_width];
      b_.rows.offsets(first + column, used, columns);
      pack(b_.dtype, block_.b_data, columns, used, width(used), b_ks_, k_count_,
           packed_b_ + column * k_count_);
    }
  }

  // Whether b is read where it lies and spans more than the caches near by. Then few rows of it at
  // a time meet all panels, so that memory is read in order, and no set of a cache is read twice.
  bool streams_b() const {
    const int64_t k = block_.k_end - block_.k_begin;
    return b_.k.uniform() && k * std::abs(b_.k.stride()) * int64_t(sizeof(T)) >= streamed_span &&
           reads_b_in_place(b_, dtype_of<T>, rows_, columns_, k);
  }
  int64_t short_k() const {
    const int64_t bytes = slivers_ == 1 ? 128 * 1024 : 256 * 1024;
    return std::clamp<int64_t>(bytes / int64_t(sizeof(T)) / columns_, 16, most_streamed_k);
  }

  static int64_t width(int64_t columns) { return round_up(columns, lanes); }

  // The first slivers are the higher ones, by a row.
  int64_t first_row(int64_t sliver) const {
    return sliver * least_rows_ + std::min(sliver, higher_slivers_);
  }

  // Slivers of the group two by two, each pair [k_count, its rows], which stays in the first-level
  // cache while panels of b pass.
  void pack_pairs() {
    const int64_t step = a_.k.stride(), row = block_.tile.row_begin + first_row(group_begin_);
    int64_t rows[group_rows], pairs = 0;
    for (int64_t i = group_begin_; i < group_end_; i += 2) rows[pairs++] = pair_rows(i);
    pack_groups(static_cast<const T*>(block_.a_data) + row + k_begin_ * step, step, rows, pairs,
                k_count_, packed_a_);
  }

  int64_t pair_rows(int64_t sliver) const {
    return first_row(std::min(sliver + 2, group_end_)) - first_row(sliver);
  }

  // Slivers side by side, [k_count, their rows], so that whole vectors are read at a time.
  void pack_a(int64_t row, int64_t rows) {
    int64_t offsets[group_rows];
    a_.rows.offsets(block_.tile.row_begin + row, rows, offsets);
    pack(a_.dtype, block_.a_data, offsets, rows, rows, a_ks_, k_count_, packed_a_);
  }

  // The offsets along k of what is packed, for a kernel that reads tables.
  const int64_t* packed_steps(int64_t step) {
    if (packed_step_ != step) {
      for (int64_t k = 0; k < k_count_; ++k) packed_ks_[k] = k * step;
      packed_step_ = step;
    }
    return packed_ks_;
  }

  // Points the tile at the group's rows of a.
  void take_a(MicroTile<T>& tile, int64_t row, int64_t rows) {
    tile.a_rows = a_rows_;
    tile.a_ks = a_ks_;
    if (pairs_a_) {
      pack_pairs();
      tile.a_row = 1;
      tile.a_ahead = 0;
      return;
    }
    if (!direct_a_) {
      pack_a(row, rows);
      tile.a = packed_a_;
      tile.a_row = 1;
      tile.a_k = rows;
      if (!indexed_) return;
      for (int64_t i = 0; i < rows; ++i) a_rows_[i] = i;
      tile.a_ks = packed_steps(rows);
      return;
    }
    tile.a = static_cast<const T*>(block_.a_data);
    if (indexed_) {
      a_.rows.offsets(block_.tile.row_begin + row, rows, a_rows_);
    } else {
      tile.a_row = a_.rows.stride();
      tile.a_k = a_.k.stride();
      tile.a += (block_.tile.row_begin + row) * tile.a_row + k_begin_ * tile.a_k;
    }
  }

  // Points the tile at a panel of b that begins at `column`; returns how many columns it has.
  int64_t take_b(MicroTile<T>& tile, int64_t column) {
    int64_t columns = std::min(panel_, columns_ - column);
    tile.columns = columns;
    if (!direct_b_) {
      tile.b = packed_b_ + column * k_count_;
      tile.b_k = width(columns);
      tile.b_ahead = 4 * tile.b_k;
      if (indexed_) tile.b_ks = packed_steps(tile.b_k);
      return columns;
    }
    tile.b = static_cast<const T*>(block_.b_data);
    tile.b_ks = b_ks_;
    tile.b_ahead = 0;
    if (!indexed_) {
      tile.b_k = b_.k.stride();
      tile.b += k_begin_ * tile.b_k;
      tile.b_ahead = 16 * tile.b_k;
    }
    if (!gaps_) {
      tile.b += b_.rows.offset(block_.tile.column_begin + column);
    } else {
      columns = find_runs(column);
      tile.b += panel_offset_;
      tile.columns = runs_[run_count_ - 1].lane + runs_[run_count_ - 1].count;
    }
    return columns;
  }

  // Fills runs_ and kept_ with the columns from `column` on whose elements a panel reaches; returns
  // how many. Panels follow each other from the first.
  int64_t find_runs(int64_t column) {
    const int64_t first = block_.tile.column_begin, inner = b_.rows.sizes[b_.rows.rank - 1];
    if (column == 0) {
      in_line_ = first % inner;
      line_ = b_.rows.offset(first) - in_line_;
    }
    panel_offset_ = line_ + in_line_;
    uint64_t lanes_kept = 0;
    int64_t at = column;
    run_count_ = 0;
    while (at < columns_) {
      const int64_t lane = line_ + in_line_ - panel_offset_;
      if (lane >= panel_) break;
      const int64_t count = std::min({inner - in_line_, panel_ - lane, columns_ - at});
      runs_[run_count_++] = {lane, at - column, count};
      lanes_kept |= ~uint64_t{0} >> (64 - count) << lane;
      at += count;
      in_line_ += count;
      if (in_line_ == inner) {
        in_line_ = 0;
        line_ = b_.rows.rank == 2 ? line_ + b_.rows.strides[0] : b_.rows.offset(first + at);
      }
    }
    int64_t to = 0;
    for (int64_t v = 0; v < panel_ / lanes; ++v) {
      const uint64_t mask = lanes_kept >> (v * lanes) & (~uint64_t{0} >> (64 - lanes));
      std::memcpy(kept_[v].mask, &mask, sizeof(mask));
      kept_[v].to = to;
      kept_[v].count = std::popcount(mask);
      to += kept_[v].count;
    }
    return at - column;
  }

  // The sums so far, spread out as the panel's lanes are.
  void load_runs(const T* c, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t r = 0; r < run_count_; ++r) {
        std::copy_n(c + i * block_.c_row + runs_[r].column, runs_[r].count,
                    spread_ + i * panel_ + runs_[r].lane);
      }
    }
  }

  // Slivers [begin, end). Each stays in the first-level cache while panels of b pass, unless the
  // slivers' lines interleave, or finding a panel takes time: then panels stay.
  void run_group(int64_t begin, int64_t end) {
    const int64_t row_begin = first_row(begin), row_end = first_row(end);
    group_begin_ = begin;
    group_end_ = end;
    MicroTile<T> tile;
    tile.k = k_count_;
    tile.first = first_;
    tile.streamed = streamed_ && !indexed_;
    tile.c_row = block_.c_row;
    tile.from_row = gaps_ ? panel_ : block_.c_row;
    tile.kept = gaps_ ? kept_ : nullptr;
    take_a(tile, row_begin, row_end - row_begin);
    const T* const a = tile.a;
    if (along_slivers_) {
      for (int64_t sliver = begin; sliver < end; ++sliver) {
        for (int64_t column = 0, columns; column < columns_; column += columns) {
          columns = take_b(tile, column);
          run_tile(tile, a, sliver, column, columns);
        }
      }
    } else {
      for (int64_t column = 0, columns; column < columns_; column += columns) {
        columns = take_b(tile, column);
        for (int64_t sliver = begin; sliver < end; ++sliver) {
          run_tile(tile, a, sliver, column, columns);
        }
      }
    }
    if (last_ && block_.epilogue != nullptr) {
      Tile done = block_.tile;
      done.row_begin = block_.tile.row_begin + row_begin;
      done.row_end = block_.tile.row_begin + row_end;
      block_.epilogue->run(block_.epilogue->context, done);
    }
  }

  // `a` is where the group's rows begin.
  void run_tile(MicroTile<T>& tile, const T* a, int64_t sliver, int64_t column, int64_t columns) {
    const int64_t row = first_row(sliver), rows = first_row(sliver + 1) - row;
    const int64_t group_row = first_row(group_begin_);
    const bool last_panel = column + columns == columns_, last_sliver = sliver + 1 == slivers_;
    if (indexed_) {
      tile.a_rows = a_rows_ + (row - group_row);
    } else if (pairs_a_) {
      const int64_t pair = sliver - (sliver - group_begin_) % 2, pair_row = first_row(pair);
      tile.a = packed_a_ + (pair_row - group_row) * k_count_ + row - pair_row;
      tile.a_k = pair_rows(pair);
    } else {
      tile.a = a + (row - group_row) * tile.a_row;
      tile.a_ahead = last_panel && !last_sliver ? rows * tile.a_row : 0;
    }
    T* const c = static_cast<T*>(block_.c) + row * block_.c_row + column;
    tile.c = c;
    const int64_t right = last_panel ? 0 : columns, down = last_sliver ? 0 : rows * block_.c_row;
    tile.c_next = c + (along_slivers_ ? right : down);
    tile.from = gaps_ ? spread_ : c;
    if (gaps_ && !first_) load_runs(c, rows);
    const int vectors = static_cast<int>(width(tile.columns) / lanes);
    if (packs_along_ && sliver == 0) {
      run_packing(tile, column, vectors);
    } else {
      micro_kernel_for<T>(static_cast<int>(rows), vectors, indexed_)(tile);
    }
  }

  // The first sliver reads b where it lies, and leaves a packed panel.
  void run_packing(MicroTile<T> tile, int64_t column, int vectors) {
    tile.b_k = b_.k.stride();
    tile.b = static_cast<const T*>(block_.b_data) + k_begin_ * tile.b_k +
             b_.rows.offset(block_.tile.column_begin + column);
    tile.b_ahead = 6 * tile.b_k;
    tile.packed = packed_b_ + column * k_count_;
    packing_kernel_for<T>(vectors)(tile);
  }

  const Block& block_;
  const MatrixOperand &a_, &b_;
  const int64_t rows_, columns_;
  const bool gaps_;  // between the columns of a panel of b, which is read where it lies
  const int64_t panel_;
  T* const packed_a_;  // [k_count, rows of a group]
  T* const packed_b_;  // panels of [k_count, panel]
  int64_t slivers_, least_rows_, higher_slivers_, group_, block_k_, k_begin_ = 0, k_count_ = 0;
  bool first_ = true, last_ = true, direct_a_ = true, direct_b_ = true, indexed_ = false, streamed_;
  bool along_slivers_ = false;  // each sliver meets all panels before the next one does
  bool packs_along_ = false;    // the first sliver packs b
  bool pairs_a_ = false;        // slivers are packed two by two
  int64_t group_begin_ = 0, group_end_ = 0;  // the slivers at hand
  int64_t run_count_ = 0, packed_step_ = 0;
  int64_t panel_offset_ = 0;
  int64_t in_line_ = 0, line_ = 0;  // the column after the panel at hand, and its line's offset
  ColumnRun runs_[widest];          // of the panel at hand
  int64_t a_rows_[group_rows];
  int64_t a_ks_[most_block_k], b_ks_[most_block_k], packed_ks_[most_block_k];  // along k
  KeptLanes kept_[most_vectors];
  T spread_[most_rows * widest];  // of rows_for(V) rows and V vectors
};

bool joins_lines_here() { return joins_lines; }
StridedKernels strided_kernels_here() {
  return {lanes_of<float>, loads_part_at_once, vectors_for<float>, rows_for,
          [](int rows, int vectors) { return micro_kernel_for<float>(rows, vectors, false); }};
}
void run_block_float(const Block& block) { BlockRun<float>(block).run(); }
void run_block_double(const Block& block) { BlockRun<double>(block).run(); }
void turn_float(const float* from, int64_t stride, int64_t rows, int64_t columns, float* out,
                int64_t pitch) {
  turn_block(from, stride, rows, columns, out, pitch);
}
void turn_double(const double* from, int64_t stride, int64_t rows, int64_t columns, double* out,
                 int64_t pitch) {
  turn_block(from, stride, rows, columns, out, pitch);
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(joins_lines_here);
HWY_EXPORT(strided_kernels_here);
HWY_EXPORT(run_block_float);
HWY_EXPORT(run_block_double);
HWY_EXPORT(turn_float);
HWY_EXPORT(turn_double);

bool takes_short_windows() {
  choose_instruction_set();
  return HWY_DYNAMIC_DISPATCH(joins_lines_here)();
}

StridedKernels strided_kernels() {
  choose_instruction_set();
  return HWY_DYNAMIC_DISPATCH(strided_kernels_here)();
}

void run_block(const Block& block, float) { HWY_DYNAMIC_DISPATCH(run_block_float)(block); }
void run_block(const Block& block, double) { HWY_DYNAMIC_DISPATCH(run_block_double)(block); }

void store_turned(const float* from, int64_t stride, int64_t rows, int64_t columns, float* out,
                  int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(turn_float)(from, stride, rows, columns, out, pitch);
}
void store_turned(const double* from, int64_t stride, int64_t rows, int64_t columns, double* out,
                  int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(turn_double)(from, stride, rows, columns, out, pitch);
}

}  // namespace mt::cpu
#endif
