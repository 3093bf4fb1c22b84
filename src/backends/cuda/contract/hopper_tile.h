// SPDX-License-Identifier: Apache-2.0
// The tiles of a product on Hopper (hopper_product.h): what lies where in shared memory, which
// block makes which of them and in which order, and how sums come from registers to memory.
#pragma once

#include "backends/cuda/contract/contract.h"
#include "backends/cuda/device/warpgroup_unit.h"

namespace mt::cuda {

constexpr int multiplying = 2;  // warpgroups
constexpr int block_threads = (1 + multiplying) * group_threads;
constexpr int tile_rows = multiplying * group_rows;
constexpr size_t line_bytes = 128;  // of a slice: as deep as so many bytes hold numbers
constexpr size_t ring_bytes = 192 << 10;
constexpr int handed_over = 2;  // tiles that may wait to be finished

// Numbers have `parts` each (contract_split.cu), which come together: each is used several times.
template <Factor factor_, bool a_along_k_, bool b_along_k_, int columns_, int parts_ = 1>
struct HopperTile {
  static constexpr Factor factor = factor_;
  static constexpr bool a_along_k = a_along_k_, b_along_k = b_along_k_;
  static constexpr int columns = columns_, parts = parts_;
  static constexpr int bytes_each = bytes_of(factor), depth = line_bytes / bytes_each;
  static constexpr size_t a_bytes = tile_rows * line_bytes, b_bytes = columns * line_bytes;
  static constexpr size_t stage_bytes = parts * (a_bytes + b_bytes);
  static constexpr int stages = static_cast<int>(ring_bytes / stage_bytes);
  static_assert(stages > 1);
  static constexpr size_t bytes = ring_bytes + 2 * (stages + handed_over) * 8;

  static __device__ size_t a(int stage, int part) {
    return static_cast<size_t>(stage) * stage_bytes + static_cast<size_t>(part) * a_bytes;
  }
  static __device__ size_t b(int stage, int part) {
    return a(stage, parts) + static_cast<size_t>(part) * b_bytes;
  }
  static __device__ size_t full(int stage) { return ring_bytes + static_cast<size_t>(stage) * 16; }
  static __device__ size_t empty(int stage) { return full(stage) + 8; }
  static __device__ size_t stored(int turn) { return full(stages + turn); }
  static __device__ size_t finished(int turn) { return stored(turn) + 8; }
};

struct TileWork {
  int64_t slab, batch;
  int row, column;  // its first
  int64_t k_begin, k_end;
};
// Calls f for each tile of this block that is not refused, in order. Counting takes 32 bits:
// divisions of 64 are calls, and where there are calls the compiler lets no product go on by
// itself.
template <class Tile, class F>
__device__ void for_each_tile(const ContractionView& c, F&& f) {
  const int rows = (static_cast<int>(c.m) + tile_rows - 1) / tile_rows;
  const int columns = (static_cast<int>(c.n) + Tile::columns - 1) / Tile::columns;
  const int panels = static_cast<int>(c.panels), slabs = static_cast<int>(c.batch) * panels;
  for (int id = static_cast<int>(blockIdx.x); id < slabs * rows * columns;
       id += static_cast<int>(gridDim.x)) {
    TilePlace<int> place = place_tile(id % (rows * columns), rows, columns);
    int slab = id / (rows * columns);
    if (c.refused != nullptr && load(c.refused, slab / panels) != 0) continue;
    int64_t k_begin = slab % panels * c.panel;
    int64_t k_end = k_begin + c.panel < c.k ? k_begin + c.panel : c.k;
    f(TileWork{slab, slab / panels, place.row * tile_rows, place.column * Tile::columns, k_begin,
               k_end});
  }
}

template <class Tile>
__device__ int count_slices(const TileWork& work) {
  return (static_cast<int>(work.k_end - work.k_begin) + Tile::depth - 1) / Tile::depth;
}

template <class T>
struct alignas(8) EightBytes {
  T at[8 / sizeof(T)];
};

// Of two groups of eight columns each of four lanes has two neighbours; then it has four of one.
__device__ inline EightBytes<uint32_t> gather(uint32_t first, uint32_t second) {
  int lane = static_cast<int>(threadIdx.x % 32);
  bool has_first = lane % 4 < 2, has_left = lane % 2 == 0;
  uint32_t other = __shfl_sync(0xffffffff, has_first ? second : first, lane ^ 2);
  uint32_t left = has_first ? first : other, right = has_first ? other : second;
  other = __shfl_sync(0xffffffff, has_left ? right : left, lane ^ 1);
  if (has_left) return {left, other};
  return {other, right};
}

// Eight bytes at a time, so that four lanes write all of 32 bytes, as memory takes them.
template <class Tile>
__device__ void store_tile(const ContractionView& c, const TileWork& work, int group,
                           const float (&sums)[Tile::columns / 2]) {
  int thread = static_cast<int>(threadIdx.x) % group_threads, lane = thread % 32;
  int64_t first_row = work.row + group * group_rows + thread / 32 * 16 + lane / 4;
  int64_t first_column = work.column + lane % 4 * 2;
  const bool wide = c.panels > 1 || c.out_dtype == Dtype::float32;
  char* out = c.panels > 1 ? c.slabs : c.out;
  const bool aligned = (wide ? c.n % 2 : c.n % 4) == 0 && reinterpret_cast<uintptr_t>(out) % 8 == 0;
  auto half = [](float number) -> uint32_t {
    return Tile::factor == Factor::bfloat16 ? float_to_bfloat16(number) : float_to_float16(number);
  };
  MT_UNROLL for (int below = 0; below < 2; ++below) {
    int64_t row = first_row + 8 * below, line = (work.slab * c.m + row) * c.n;
    MT_UNROLL for (int j = 0; j < Tile::columns / 8; j += 2) {
      auto sum = [&](int i) { return sums[4 * (j + i / 2) + 2 * below + i % 2]; };
      auto column = [&](int i) { return first_column + 8 * (j + i / 2) + i % 2; };
      if (wide && aligned) {
        for (int i = 0; i < 4; i += 2) {
          if (row >= c.m || column(i) >= c.n) continue;
          store(reinterpret_cast<EightBytes<float>*>(out), (line + column(i)) / 2,
                EightBytes<float>{{sum(i), sum(i + 1)}});
        }
      } else if (aligned) {
        auto four = gather(half(sum(0)) | half(sum(1)) << 16, half(sum(2)) | half(sum(3)) << 16);
        int64_t at = work.column + 8 * (j + lane % 4 / 2) + lane % 2 * 4;
        if (row >= c.m || at >= c.n) continue;
        store(reinterpret_cast<EightBytes<uint32_t>*>(out), (line + at) / 4, four);
      } else {
        for (int i = 0; i < 4; ++i) {
          if (row >= c.m || column(i) >= c.n) continue;
          store_product<Tile::factor>(c, line + column(i), sum(i));
        }
      }
    }
  }
}

}  // namespace mt::cuda
