// SPDX-License-Identifier: Apache-2.0
// A tile of the result, [rows, columns], in blocks of k: the block of b is packed into panels as
// wide as the micro-kernel, which stay in the second-level cache; then for each sliver of a few
// rows of a, which stays in the first-level cache, the micro-kernel runs over all panels. What
// needs no packing is read where it lies: a whose k is contiguous, and a b that is small or used by
// few rows.
#include "backends/cpu/contract/blocked.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/blocked.cpp"
#include "backends/cpu/contract/targets.h"

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
        panel_(columns_ >= widest ? widest : (columns_ + lanes - 1) / lanes * lanes),
        packed_b_(static_cast<T*>(block.scratch)),
        packed_a_(packed_b_ + most_block_k * most_block_columns(sizeof(T))) {
    int64_t most = rows_for(static_cast<int>(panel_ / lanes));
    slivers_ = (rows_ + most - 1) / most;
  }

  void run() {
    const int64_t k = block_.k_end - block_.k_begin;
    const int64_t blocks = (k + most_block_k - 1) / most_block_k;
    for (int64_t i = 0; i < blocks; ++i) {
      k_begin_ = block_.k_begin + k * i / blocks;
      k_count_ = block_.k_begin + k * (i + 1) / blocks - k_begin_;
      first_ = i == 0;
      last_ = i == blocks - 1;
      prepare_b();
      direct_a_ = uniform(*block_.a) &&
                  (block_.a->k.stride() == 1 || rows_ * k_count_ * int64_t{sizeof(T)} <= 32 * 1024);
      if (!direct_a_) block_.a->k.offsets(k_begin_, k_count_, ks_);
      for (int64_t s = 0; s < slivers_; ++s) run_sliver(s);
    }
  }

 private:
  static constexpr int64_t lanes = lane_count<T>;
  static constexpr int64_t widest = most_vectors * lanes;

  static bool uniform(const Operand& x) {
    return x.dtype == dtype_of<T> && x.rows.uniform() && x.k.uniform();
  }

  void prepare_b() {
    const Operand& b = *block_.b;
    const int64_t first = block_.tile.column_begin;
    bool neighbours = columns_ == 1 || b.rows.stride() == 1;
    bool small = slivers_ <= 3 || k_count_ * columns_ * int64_t{sizeof(T)} <= 32 * 1024;
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

  void run_sliver(int64_t sliver) {
    const int64_t row = rows_ * sliver / slivers_;
    const int64_t rows = rows_ * (sliver + 1) / slivers_ - row;
    MicroTile<T> tile;
    tile.k = k_count_;
    tile.c_row = block_.c_row;
    tile.first = first_;
    const Operand& a = *block_.a;
    if (direct_a_) {
      tile.a_row = a.rows.stride();
      tile.a_k = a.k.stride();
      tile.a = static_cast<const T*>(a.data) + block_.a_base +
               (block_.tile.row_begin + row) * tile.a_row + k_begin_ * tile.a_k;
    } else {
      int64_t offsets[most_rows];
      a.rows.offsets(block_.tile.row_begin + row, rows, offsets);
      const void* base =
          static_cast<const char*>(a.data) + block_.a_base * int64_t(size_of(a.dtype));
      pack(a.dtype, base, offsets, rows, rows, ks_, k_count_, packed_a_);
      tile.a = packed_a_;
      tile.a_row = 1;
      tile.a_k = rows;
    }
    T* c = static_cast<T*>(block_.c) + row * block_.c_row;
    for (int64_t column = 0; column < columns_; column += panel_) {
      tile.columns = std::min(panel_, columns_ - column);
      tile.c = c + column;
      if (direct_b_) {
        tile.b_k = block_.b->k.stride();
        tile.b = static_cast<const T*>(block_.b->data) + block_.b_base +
                 (block_.tile.column_begin + column) + k_begin_ * tile.b_k;
      } else {
        tile.b_k = width(tile.columns);
        tile.b = packed_b_ + column * k_count_;
      }
      bool masked = direct_b_ && tile.columns % lanes != 0;
      int vectors = static_cast<int>(width(tile.columns) / lanes);
      micro_kernel_for<T>(static_cast<int>(rows), vectors, masked)(tile);
    }
    if (last_ && block_.epilogue != nullptr) {
      Tile done = block_.tile;
      done.row_begin = block_.tile.row_begin + row;
      done.row_end = done.row_begin + rows;
      block_.epilogue->run(block_.epilogue->context, done);
    }
  }

  const Block& block_;
  const int64_t rows_, columns_, panel_;
  T* const packed_b_;  // panels of [k_count, panel]
  T* const packed_a_;  // [k_count, rows of a sliver]
  int64_t slivers_, k_begin_ = 0, k_count_ = 0;
  bool first_ = true, last_ = true, direct_a_ = true, direct_b_ = true;
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

size_t block_scratch(size_t size) {
  // Prefetches run past the end of a panel, reads do not.
  return (most_block_k * most_block_columns(size) + most_block_k * 16) * size;
}
void run_block(const Block& block, float) { HWY_DYNAMIC_DISPATCH(run_block_float)(block); }
void run_block(const Block& block, double) { HWY_DYNAMIC_DISPATCH(run_block_double)(block); }

}  // namespace mt::cpu
#endif
