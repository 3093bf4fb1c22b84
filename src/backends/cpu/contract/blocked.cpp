// SPDX-License-Identifier: Apache-2.0
// A tile of the result, [rows, columns], in blocks of k: the block of b is packed into panels as
// wide as the micro-kernel, which stay in the second-level cache; then for each sliver of a few
// rows of a, which stays in the first-level cache, the micro-kernel runs over all panels. What
// needs no packing is read where it lies: a whose k is contiguous, and a b that is small or used by
// few rows.
#include "backends/cpu/contract/blocked.h"

#include <algorithm>

#ifndef MT_CONTRACT_BLOCKED_SIZES
#define MT_CONTRACT_BLOCKED_SIZES
namespace mt::cpu {
namespace {
// Terms of a sum in a block; more where there is only one, narrow, panel.
constexpr int64_t block_k = 384, most_block_k = 1024;
constexpr int64_t panel_unit = 64;  // columns that scratch for b is counted in
constexpr int64_t group_rows = 48;  // of the slivers that run together
}  // namespace
}  // namespace mt::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/blocked.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/contract/micro_kernel-inl.h"
#include "backends/cpu/contract/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
class BlockRun {
 public:
  explicit BlockRun(const Block& block)
      : block_(block),
        rows_(block.tile.row_end - block.tile.row_begin),
        columns_(block.tile.column_end - block.tile.column_begin),
        panel_(panel_for(rows_, columns_)),
        block_k_(columns_ <= panel_ ? std::min(most_block_k, block_k * widest / panel_) : block_k),
        packed_a_(static_cast<T*>(block.scratch)),
        packed_b_(packed_a_ + group_rows * std::min(most_block_k, block.k_end - block.k_begin)) {
    int64_t most = rows_for(static_cast<int>(panel_ / lanes));
    slivers_ = (rows_ + most - 1) / most;
    group_ = group_rows / most;
    constexpr int64_t aligned = lanes * sizeof(T);
    streamed_ = block.streamed && block.k_end - block.k_begin <= block_k_ &&
                columns_ % lanes == 0 && block.c_row % lanes == 0 &&
                reinterpret_cast<uintptr_t>(block.c) % aligned == 0;
  }

  void run() {
    const int64_t k = block_.k_end - block_.k_begin;
    const int64_t blocks = (k + block_k_ - 1) / block_k_;
    for (int64_t i = 0; i < blocks; ++i) {
      k_begin_ = block_.k_begin + k * i / blocks;
      k_count_ = block_.k_begin + k * (i + 1) / blocks - k_begin_;
      first_ = i == 0;
      last_ = i == blocks - 1;
      prepare_b();
      direct_a_ = uniform(*block_.a) &&
                  (block_.a->k.stride() == 1 || rows_ * k_count_ * int64_t{sizeof(T)} <= 32 * 1024);
      if (!direct_a_) block_.a->k.offsets(k_begin_, k_count_, ks_);
      for (int64_t s = 0; s < slivers_; s += group_) {
        run_group(s, std::min(s + group_, slivers_));
      }
    }
    if (streamed_) hwy::FlushStream();
  }

 private:
  static constexpr int64_t lanes = lanes_of<T>;
  static constexpr int64_t widest = most_vectors * lanes;

  // As many columns as the registers hold for these rows: few rows leave room for more.
  static int64_t panel_for(int64_t rows, int64_t columns) {
    int vectors = static_cast<int>(std::min<int64_t>(most_vectors, (columns + lanes - 1) / lanes));
    while (vectors > 1 && rows > rows_for(vectors) && rows <= rows_for(vectors - 1)) --vectors;
    return vectors * lanes;
  }

  static bool uniform(const Operand& x) {
    return x.dtype == dtype_of<T> && x.rows.uniform() && x.k.uniform();
  }

  void prepare_b() {
    const Operand& b = *block_.b;
    const int64_t first = block_.tile.column_begin;
    bool neighbours = columns_ == 1 || b.rows.stride() == 1;
    bool small = slivers_ <= 12 || k_count_ * columns_ * int64_t{sizeof(T)} <= 256 * 1024;
    direct_b_ = uniform(b) && neighbours && small;
    if (direct_b_) return;
    b.k.offsets(k_begin_, k_count_, ks_);
    const void* base = static_cast<const char*>(b.data) + block_.b_base * int64_t(size_of(b.dtype));
    for (int64_t column = 0; column < columns_; column += panel_) {
      int64_t used = std::min(panel_, columns_ - column);
      int64_t columns[most_width];
      b.rows.offsets(first + column, used, columns);
      pack(b.dtype, base, columns, used, width(used), ks_, k_count_, packed_b_ + column * k_count_);
    }
  }

  static int64_t width(int64_t columns) { return (columns + lanes - 1) / lanes * lanes; }

  int64_t first_row(int64_t sliver) const { return rows_ * sliver / slivers_; }

  // Several slivers side by side, [k_count, their rows], so that whole vectors are read at a time.
  void pack_a(int64_t row, int64_t rows) {
    const Operand& a = *block_.a;
    int64_t offsets[group_rows];
    a.rows.offsets(block_.tile.row_begin + row, rows, offsets);
    const void* base = static_cast<const char*>(a.data) + block_.a_base * int64_t(size_of(a.dtype));
    pack(a.dtype, base, offsets, rows, rows, ks_, k_count_, packed_a_);
  }

  // Slivers [begin, end): each panel of b is used by all of them while it is close.
  void run_group(int64_t begin, int64_t end) {
    const Operand &a = *block_.a, &b = *block_.b;
    const int64_t row_begin = first_row(begin), row_end = first_row(end);
    MicroTile<T> tile;
    tile.k = k_count_;
    tile.c_row = block_.c_row;
    tile.first = first_;
    tile.streamed = streamed_;
    const T* as;
    if (direct_a_) {
      tile.a_row = a.rows.stride();
      tile.a_k = a.k.stride();
      as = static_cast<const T*>(a.data) + block_.a_base +
           (block_.tile.row_begin + row_begin) * tile.a_row + k_begin_ * tile.a_k;
    } else {
      pack_a(row_begin, row_end - row_begin);
      tile.a_row = 1;
      tile.a_k = row_end - row_begin;
      as = packed_a_;
    }
    for (int64_t column = 0; column < columns_; column += panel_) {
      tile.columns = std::min(panel_, columns_ - column);
      if (direct_b_) {
        tile.b_k = b.k.stride();
        tile.b = static_cast<const T*>(b.data) + block_.b_base +
                 (block_.tile.column_begin + column) + k_begin_ * tile.b_k;
        tile.b_ahead = 16 * tile.b_k;
      } else {
        tile.b_k = width(tile.columns);
        tile.b = packed_b_ + column * k_count_;
        tile.b_ahead = 4 * tile.b_k;
      }
      const bool masked = direct_b_ && tile.columns % lanes != 0;
      const int vectors = static_cast<int>(width(tile.columns) / lanes);
      for (int64_t sliver = begin; sliver < end; ++sliver) {
        const int64_t row = first_row(sliver), rows = first_row(sliver + 1) - row;
        tile.a = as + (row - row_begin) * tile.a_row;
        tile.a_ahead = sliver + 1 < slivers_ ? rows * tile.a_row : 0;
        tile.c = static_cast<T*>(block_.c) + row * block_.c_row + column;
        micro_kernel_for<T>(static_cast<int>(rows), vectors, masked)(tile);
      }
    }
    if (last_ && block_.epilogue != nullptr) {
      Tile done = block_.tile;
      done.row_begin = block_.tile.row_begin + row_begin;
      done.row_end = block_.tile.row_begin + row_end;
      block_.epilogue->run(block_.epilogue->context, done);
    }
  }

  const Block& block_;
  const int64_t rows_, columns_, panel_, block_k_;
  T* const packed_a_;  // [k_count, rows of a group]
  T* const packed_b_;  // panels of [k_count, panel]
  int64_t slivers_, group_, k_begin_ = 0, k_count_ = 0;
  bool first_ = true, last_ = true, direct_a_ = true, direct_b_ = true, streamed_;
  int64_t ks_[most_block_k];  // offsets along k of the operand being packed: first b, then a
};

void run_block_float(const Block& block) { BlockRun<float>(block).run(); }
void run_block_double(const Block& block) { BlockRun<double>(block).run(); }

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(run_block_float);
HWY_EXPORT(run_block_double);

size_t block_scratch(size_t size, int64_t k, int64_t columns) {
  const int64_t deepest = std::min(k, most_block_k);
  const int64_t b = std::min(deepest * ((columns + panel_unit - 1) / panel_unit * panel_unit),
                             block_k * most_block_columns(size));
  return static_cast<size_t>(group_rows * deepest + b) * size;
}
void run_block(const Block& block, float) { HWY_DYNAMIC_DISPATCH(run_block_float)(block); }
void run_block(const Block& block, double) { HWY_DYNAMIC_DISPATCH(run_block_double)(block); }

}  // namespace mt::cpu
#endif
