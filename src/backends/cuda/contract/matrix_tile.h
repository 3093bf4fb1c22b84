// SPDX-License-Identifier: Apache-2.0
// A block's tile of a product of matrices on the tensor cores, for all GPUs that serve.
//
// Idea: as in contract_tile.h, but a warp multiplies whole fragments of the tile (matrix_unit.h).
// Slices of both operands come to shared memory as vectors of 16 bytes, two of them under way while
// a third is multiplied. They lie there as in memory, along k or along the rows, in rows that are a
// little longer than they need be, so that no two lanes that fetch a fragment meet in a bank; what
// lies along the rows is turned around on its way to the fragments.
//
// Shapes: a tile is 128 x 128; the 8 warps stand 2 x 4 and make 64 x 32 each, 4 x 4 fragments of 16
// x 8. Operands move as vectors, so that sizes and strides must be multiples of these
// (suits_matrix_units in prepare_contract.cpp).
//
// Limit: for 12 words that a lane fetches a warp does 16 multiply-adds of fragments: the tensor
// cores, as far as mma reaches them; on Hopper that is two thirds of what wgmma does.
#pragma once

#include "backends/cuda/contract/contract_finish.h"
#include "backends/cuda/device/copy.h"
#include "backends/cuda/device/matrix_unit.h"

namespace mt::cuda {

constexpr int matrix_threads = 256, matrix_side = 128;

// One operand's slices: [rows, k] of a matrix.
template <Factor factor, bool along_k, int depth>
struct MatrixSlices {
  static constexpr int bytes_each = bytes_of(factor), width = 16 / bytes_each;  // of a vector
  // Of [rows, depth] or [depth, rows].
  static constexpr int pitch = along_k ? depth + width : matrix_side + 8;
  static constexpr size_t bytes = (along_k ? matrix_side : depth) * pitch * bytes_each;

  // A thread copies vectors that lie `apart` from each other; neighbouring threads neighbouring
  // ones.
  static constexpr int in_line = (along_k ? depth : matrix_side) / width;
  static constexpr int lines = (along_k ? matrix_side : depth),
                       lines_apart = matrix_threads / in_line;
  static_assert(matrix_threads % in_line == 0);

  const Vector* next;          // the thread's first vector of the next slice
  int64_t apart, to_the_next;  // in vectors
  int rows;                    // of the tile

  __device__ MatrixSlices(const char* data, const AxesView& row_axes, const AxesView& k_axes,
                          int64_t first_row, int64_t row_count, int64_t k) {
    int64_t row_stride = row_axes.stride[0], k_stride = k_axes.stride[0];
    int64_t from = (first_row + own_row(0)) * row_stride + (k + own_step(0)) * k_stride;
    next = reinterpret_cast<const Vector*>(data) + from / width;
    apart = lines_apart * (along_k ? row_stride : k_stride) / width;
    to_the_next = depth * k_stride / width;
    rows =
        row_count - first_row < matrix_side ? static_cast<int>(row_count - first_row) : matrix_side;
  }
  static __device__ int own_line(int i) {
    return static_cast<int>(threadIdx.x) / in_line + i * lines_apart;
  }
  static __device__ int own_in_line() { return static_cast<int>(threadIdx.x) % in_line * width; }
  static __device__ int own_row(int i) { return along_k ? own_line(i) : own_in_line(); }
  static __device__ int own_step(int i) { return along_k ? own_in_line() : own_line(i); }

  static __device__ int place(int row, int step) {
    return along_k ? row * pitch + step : step * pitch + row;
  }
  // The next slice, of `k_left` steps or, if these are fewer, `depth`.
  __device__ void fetch(size_t to, int64_t k_left, int64_t part) const {
    auto vectors = shared<Vector>(to);
    MT_UNROLL for (int i = 0; i < lines / lines_apart; ++i) {
      bool within = own_row(i) < rows && own_step(i) < k_left;
      copy_async(vectors, place(own_row(i), own_step(i)) / width, next, i * apart + part / width,
                 within);
    }
  }
  __device__ void go_on() { next += to_the_next; }

  // As take_fragment().
  template <bool left>
  static __device__ void take(uint32_t (&to)[4], size_t from, int row, int step) {
    if constexpr (factor == Factor::tf32 && !along_k) {
      int lane = static_cast<int>(threadIdx.x % 32);
      auto numbers = shared<uint32_t>(from);
      MT_UNROLL for (int i = 0; i < 4; ++i) {
        int r = row + (left ? i % 2 : i / 2) * 8, s = step + (left ? i / 2 : i % 2) * width;
        to[i] = numbers[place(r + lane / 4, s + lane % 4)];
      }
    } else {
      take_fragment<factor, left, along_k>(to, from, pitch, row, step);
    }
    if constexpr (factor == Factor::tf32) {
      MT_UNROLL for (uint32_t& number : to) number = round_to_tf32(number);
    }
  }
};

// How a tile is made. Numbers have `parts` each: of their products those are formed that are not
// too small to matter, the smallest first. The tensor cores cut off what sums cannot hold, always
// towards zero; so of such numbers they sum no more than one step, and what comes of it is rounded
// to nearest. `stages` slices are in shared memory.
template <Factor factor_, bool a_along_k, bool b_along_k, int parts_, int depth_, int stages_>
struct MatrixTile {
  using A = MatrixSlices<factor_, a_along_k, depth_>;
  using B = MatrixSlices<factor_, b_along_k, depth_>;
  static constexpr Factor factor = factor_;
  static constexpr int parts = parts_, depth = depth_, stages = stages_;
  static constexpr size_t stage_bytes = parts * (A::bytes + B::bytes), bytes = stages * stage_bytes;

  static __device__ size_t place_a(int stage, int part) {
    return static_cast<size_t>(stage) * stage_bytes + static_cast<size_t>(part) * A::bytes;
  }
  static __device__ size_t place_b(int stage, int part) {
    return place_a(stage, parts) + static_cast<size_t>(part) * B::bytes;
  }
};

template <class Tile>
__device__ void make_matrix_tile(const ContractionView& c, int64_t a_part, int64_t b_part) {
  constexpr int side = matrix_side, parts = Tile::parts, depth = Tile::depth, stages = Tile::stages;
  using A = typename Tile::A;
  using B = typename Tile::B;
  int64_t row_tiles = (c.m + side - 1) / side, column_tiles = (c.n + side - 1) / side;
  int64_t tiles = row_tiles * column_tiles, slab = blockIdx.x / tiles, batch = slab / c.panels;
  if (c.refused != nullptr && load(c.refused, batch) != 0) return;
  TilePlace<int64_t> place = place_tile(blockIdx.x % tiles, row_tiles, column_tiles);
  int64_t first_row = place.row * side, first_column = place.column * side;
  int64_t k_begin = slab % c.panels * c.panel;
  int64_t k_end = k_begin + c.panel < c.k ? k_begin + c.panel : c.k;
  const char* a_data = c.a + A::bytes_each * offset(c.a_batch, batch);
  const char* b_data = c.b + B::bytes_each * offset(c.b_batch, batch);
  A a(a_data, c.a_rows, c.a_k, first_row, c.m, k_begin);
  B b(b_data, c.b_rows, c.b_k, first_column, c.n, k_begin);
  int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;

  auto fetch = [&](int64_t k, int stage) {
    if (k < k_end) {
      for (int p = 0; p < parts; ++p) {
        a.fetch(Tile::place_a(stage, p), k_end - k, p * a_part);
        b.fetch(Tile::place_b(stage, p), k_end - k, p * b_part);
      }
      a.go_on();
      b.go_on();
    }
    commit_copies();  // a group for each slice, even where there is none
  };
  for (int s = 0; s < stages - 1; ++s) fetch(k_begin + s * depth, s);

  float sums[4][4][4] = {};
  int stage = 0;
  for (int64_t k = k_begin; k < k_end; k += depth) {
    wait_for_copies<stages - 2>();
    __syncthreads();
    fetch(k + (stages - 1) * depth, (stage + stages - 1) % stages);
    for (int step = 0; step < depth && k + step < k_end; step += 2 * A::width) {
      uint32_t left[parts][4][4], right[parts][2][4];
      MT_UNROLL for (int p = 0; p < parts; ++p) {
        MT_UNROLL for (int i = 0; i < 4; ++i) {
          A::template take<true>(left[p][i], Tile::place_a(stage, p), warp_row + 16 * i, step);
        }
        MT_UNROLL for (int j = 0; j < 2; ++j) {
          B::template take<false>(right[p][j], Tile::place_b(stage, p), warp_column + 16 * j, step);
        }
      }
      MT_UNROLL for (int i = 0; i < 4; ++i) {
        float of_step[4][4] = {};
        MT_UNROLL for (int sum = parts - 1; sum >= 0; --sum) {
          MT_UNROLL for (int p = 0; p <= sum; ++p) {
            MT_UNROLL for (int j = 0; j < 4; ++j) {
              const uint32_t(&pair)[4] = right[sum - p][j / 2];
              uint32_t fragment[2] = {pair[j % 2 * 2], pair[j % 2 * 2 + 1]};
              auto& to = parts > 1 ? of_step[j] : sums[i][j];
              matrix_multiply_add<Tile::factor>(to, left[p][i], fragment);
            }
          }
        }
        MT_UNROLL for (int j = 0; j < 4 && parts > 1; ++j) {
          MT_UNROLL for (int r = 0; r < 4; ++r) sums[i][j][r] += of_step[j][r];
        }
      }
    }
    stage = (stage + 1) % stages;
  }

  // The sums are stored before anything follows from them, so that they need no registers then.
  auto element = [&](int i, int j, int r) {  // -1 beyond the result
    int64_t row = first_row + warp_row + 16 * i + lane / 4 + r / 2 * 8;
    int64_t column = first_column + warp_column + 8 * j + lane % 4 * 2 + r % 2;
    return row < c.m && column < c.n ? (slab * c.m + row) * c.n + column : int64_t{-1};
  };
  MT_UNROLL for (int i = 0; i < 4; ++i) {
    MT_UNROLL for (int j = 0; j < 4; ++j) {
      MT_UNROLL for (int r = 0; r < 4; ++r) {
        int64_t at = element(i, j, r);
        if (at >= 0) store_product<Tile::factor>(c, at, sums[i][j][r]);
      }
    }
  }
  if (c.panels > 1 || c.epilogue == nullptr) return;
  for (int i = 0; i < 64; ++i) {
    int64_t at = element(i / 16, i / 4 % 4, i % 4);
    if (at >= 0) Interpreted{c.epilogue}(at);
  }
}

inline Dim3 matrix_blocks(const ContractionShape& shape) {
  auto tiles = [](int64_t size) { return (size + matrix_side - 1) / matrix_side; };
  return {static_cast<unsigned>(tiles(shape.m) * tiles(shape.n) * shape.batch * shape.panels)};
}

}  // namespace mt::cuda
