// SPDX-License-Identifier: Apache-2.0
// A block's tile of a contraction. In steps along k its threads bring a slice of both operands to
// shared memory, where each number is then used by a whole row or column of threads. While they
// multiply one slice the next is on its way (copy.h), so that memory is waited for once, at the
// beginning.
//
// Operands that are not matrices (a convolution's windows, a transpose) differ only in where an
// element lies: that is a sum of two numbers, one for its row and one for its place along k. They
// are found once for each row of a tile and each step of a slice, and kept in tables. Numbers of
// other types than the sums' are converted on the way, and then waited for.
#pragma once

#include "backends/cuda/contract/contract.h"
#include "backends/cuda/device/copy.h"
#include "backends/cuda/device/tile.h"

namespace mt::cuda {

constexpr int slice_depth = 16;  // along k

// The slices of one operand: `count` rows from `first` on, as [slice_depth, pitch] in shared
// memory.
template <class T, int count, int pitch, int block_threads, bool tables, bool converts>
struct Slices {
  static constexpr size_t bytes = slice_depth * pitch * sizeof(T);  // of a slice; there are two
  // Of the rows' and, twice, the steps' offsets.
  static constexpr size_t table_bytes = tables ? (count + 2 * slice_depth) * sizeof(int64_t) : 0;

  const char* data;
  const AxesView& rows;
  const AxesView& ks;
  Dtype dtype;
  bool along_k;
  int64_t first, limit, k_end;
  size_t at, table;  // in shared memory

  __device__ void fill_rows() const {
    if constexpr (tables) {
      for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads) {
        shared<int64_t>(table)[i] = first + i < limit ? offset(rows, first + i) : 0;
      }
    }
  }
  __device__ void fill_steps(int64_t k, int step, int turn) const {
    if constexpr (tables) {
      shared<int64_t>(table)[count + turn * slice_depth + step] =
          k + step < k_end ? offset(ks, k + step) : 0;
    }
  }
  // Neighbouring threads fetch what lies next to each other in memory; then all go on by as many
  // rows or steps as they have fetched.
  __device__ void fetch(int64_t k, int turn) const {
    static_assert(block_threads % slice_depth == 0 && block_threads % count == 0);
    auto to = shared<T>(at + static_cast<size_t>(turn) * bytes);
    auto offsets = shared<int64_t>(table);
    int thread = static_cast<int>(threadIdx.x);
    int row = along_k ? thread / slice_depth : thread % count;
    int step = along_k ? thread % slice_depth : thread / count;
    int more_rows = along_k ? block_threads / slice_depth : 0;
    int more_steps = along_k ? 0 : block_threads / count;
    int64_t from = (first + row) * rows.stride[0] + (k + step) * ks.stride[0];
    int64_t stride = more_rows * rows.stride[0] + more_steps * ks.stride[0];
    MT_NO_UNROLL for (int i = 0; i < count * slice_depth; i += block_threads) {
      bool within = first + row < limit && k + step < k_end;
      if constexpr (tables) {
        from = int64_t{offsets[row]} + int64_t{offsets[count + turn * slice_depth + step]};
      }
      if constexpr (converts) {
        to[step * pitch + row] = within ? load_as<T>(data, dtype, from) : T(0);
      } else {
        copy_async(to, step * pitch + row, reinterpret_cast<const T*>(data), from, within);
      }
      row += more_rows;
      step += more_steps;
      from += stride;
    }
  }
};

template <class Block, class T, bool tables, bool converts>
using RowSlices = Slices<T, Block::rows, Block::row_pitch, Block::threads, tables, converts>;
template <class Block, class T, bool tables, bool converts>
using ColumnSlices =
    Slices<T, Block::columns, Block::column_pitch, Block::threads, tables, converts>;

template <class Block, class T, bool tables, bool converts>
constexpr size_t tile_bytes() {
  using A = RowSlices<Block, T, tables, converts>;
  using B = ColumnSlices<Block, T, tables, converts>;
  return 2 * (A::bytes + B::bytes) + A::table_bytes + B::table_bytes;
}

// Writes a tile of sums of type T, and calls finish(element) after each that is complete.
template <class Block, class T, bool tables, bool converts, class Finish>
MT_INLINE __device__ void make_tile(const ContractionView* call, Finish&& finish) {
  using A = RowSlices<Block, T, tables, converts>;
  using B = ColumnSlices<Block, T, tables, converts>;
  const ContractionView& c = view(call);
  int64_t row_tiles = (c.m + Block::rows - 1) / Block::rows;
  int64_t column_tiles = (c.n + Block::columns - 1) / Block::columns, id = blockIdx.x;
  TilePlace<int64_t> place = place_tile(id % (row_tiles * column_tiles), row_tiles, column_tiles);
  int64_t first_row = place.row * Block::rows, first_column = place.column * Block::columns;
  int64_t slab = id / (row_tiles * column_tiles), batch = slab / c.panels;
  if (c.refused != nullptr && load(c.refused, batch) == 0) return;
  int64_t k_begin = slab % c.panels * c.panel;
  int64_t k_end = k_begin + c.panel < c.k ? k_begin + c.panel : c.k;
  constexpr size_t b_at = 2 * A::bytes, table = b_at + 2 * B::bytes;
  A a{c.a + offset(c.a_batch, batch) * bytes_of(c.a_dtype),
      c.a_rows,
      c.a_k,
      c.a_dtype,
      c.a_along_k,
      first_row,
      c.m,
      k_end,
      0,
      table};
  B b{c.b + offset(c.b_batch, batch) * bytes_of(c.b_dtype),
      c.b_rows,
      c.b_k,
      c.b_dtype,
      c.b_along_k,
      first_column,
      c.n,
      k_end,
      b_at,
      table + A::table_bytes};

  // Of the slice at k, by the block's first threads.
  auto fill_steps = [&](int64_t k, int turn) {
    int t = static_cast<int>(threadIdx.x);
    if (t < slice_depth) a.fill_steps(k, t, turn);
    if (t >= slice_depth && t < 2 * slice_depth) b.fill_steps(k, t - slice_depth, turn);
  };
  auto fetch = [&](int64_t k, int turn) {
    a.fetch(k, turn);
    b.fetch(k, turn);
    commit_copies();
  };
  if constexpr (tables) {
    a.fill_rows();
    b.fill_rows();
    fill_steps(k_begin, 0);
    __syncthreads();
    fill_steps(k_begin + slice_depth, 1);
  }
  Block tile;
  if (k_begin < k_end) fetch(k_begin, 0);
  int turn = 0;
  for (int64_t k = k_begin; k < k_end; k += slice_depth, turn ^= 1) {
    wait_for_copies<0>();
    __syncthreads();
    if (k + slice_depth < k_end) fetch(k + slice_depth, turn ^ 1);
    int steps = k_end - k < slice_depth ? static_cast<int>(k_end - k) : slice_depth;
    size_t slice = static_cast<size_t>(turn);
    tile.multiply(slice * A::bytes, b_at + slice * B::bytes, steps);
    if constexpr (tables) fill_steps(k + 2 * slice_depth, turn);
  }

  // The sums are stored before anything follows from them, so that they need no registers then.
  char* to = c.panels > 1 ? c.slabs : c.out;
  auto element = [&](int i, int j) {  // -1 beyond the result
    int64_t row = first_row + Block::row(i), column = first_column + Block::column(j);
    return row < c.m && column < c.n ? (slab * c.m + row) * c.n + column : int64_t{-1};
  };
  MT_UNROLL for (int i = 0; i < Block::own_rows; ++i) {
    MT_UNROLL for (int j = 0; j < Block::own_columns; ++j) {
      int64_t at = element(i, j);
      if (at < 0) continue;
      if constexpr (converts) {
        if (c.panels == 1) {
          store_sum(to, c.out_dtype, at, tile.sums[i][j]);
          continue;
        }
      }
      store(reinterpret_cast<T*>(to), at, tile.sums[i][j]);
    }
  }
  if (c.panels > 1) return;
  for (int i = 0; i < Block::own_rows; ++i) {
    for (int j = 0; j < Block::own_columns; ++j) {
      int64_t at = element(i, j);
      if (at >= 0) finish(at);
    }
  }
}

}  // namespace mt::cuda
