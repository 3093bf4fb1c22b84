// SPDX-License-Identifier: Apache-2.0
// The work of a block on a product on Hopper (contract_hopper.cu), with what follows from it
// element by element where a kernel is generated for that (generate.cpp).
//
// Idea: the threads of a block have different work. One thread of the first warpgroup copies: it
// asks for slices of both operands, box by box (bulk_copy.h), into stages of shared memory that lie
// in a ring. The other two warpgroups multiply (warpgroup_unit.h), each its half of the tile's
// rows. Each stage has two arrival barriers: `full`, when the bytes of its slices have come, and
// `empty`, when both warpgroups have read them. Nobody waits for anything else; the slices of the
// next tile are on their way while the sums of this one are written.
//
// What follows from a tile is done by the copying warpgroup's three other warps, while the sums of
// the next are formed: the multiplying ones store their sums as they are, and hand the tile over.
// They may be two tiles ahead. (Whatever is called as a function, as the interpreter is, would keep
// the compiler from letting products go on by themselves.)
//
// Limit: the tensor cores. A warpgroup's product of 64 x 256 x 16, or 8 of TF32, takes 128 cycles,
// in which it reads 10 KiB of shared memory, which gives 16. Both warpgroups end a tile together,
// and the tensor cores wait while the sums are written, which tells where k is short.
#pragma once

#include "backends/cuda/contract/hopper_tile.h"

namespace mt::cuda {

// The boxes of one operand's slice.
template <bool along_k, int rows>
__device__ void copy_slice(size_t to, const TensorMap& map, int64_t row, int64_t k, int64_t batch,
                           size_t barrier) {
  if constexpr (along_k) {
    copy_box(to, map, k, row, batch, barrier);
  } else {
    for (int r = 0; r < rows; r += box_line) {
      copy_box(to + static_cast<size_t>(r / box_line) * box_bytes, map, row + r, k, batch, barrier);
    }
  }
}

// One thread's work. An operand that all batch entries share has one entry itself.
template <class Tile>
__device__ void copy_tiles(const ContractionView& c, const TensorMap& a, const TensorMap& b) {
  bool a_batches = c.a_batch.count > 0 && c.a_batch.stride[0] != 0;
  bool b_batches = c.b_batch.count > 0 && c.b_batch.stride[0] != 0;
  Turn<Tile::stages> turn;
  for_each_tile<Tile>(c, [&](const TileWork& work) {
    const int64_t a_first = a_batches ? work.batch * Tile::parts : 0;
    const int64_t b_first = b_batches ? work.batch * Tile::parts : 0;
    for (int64_t k = work.k_begin; k < work.k_end; k += Tile::depth, turn.next()) {
      size_t full = Tile::full(turn.stage);
      wait_for_arrivals(Tile::empty(turn.stage), turn.parity ^ 1);
      arrive_expecting(full, Tile::stage_bytes);
      for (int p = 0; p < Tile::parts; ++p) {
        copy_slice<Tile::a_along_k, tile_rows>(Tile::a(turn.stage, p), a, work.row, k, a_first + p,
                                               full);
        copy_slice<Tile::b_along_k, Tile::columns>(Tile::b(turn.stage, p), b, work.column, k,
                                                   b_first + p, full);
      }
    }
  });
}

// Adds the products of a stage's slices, part p of a by part q of b, to the group's sums; or has
// them begin.
template <class Tile>
__device__ void multiply_slices(float (&sums)[Tile::columns / 2], int stage, int p, int q,
                                int group, bool add) {
  constexpr int bytes_each = Tile::bytes_each;
  const size_t own_rows = static_cast<size_t>(group) * box_bytes;
  MT_UNROLL for (int step = 0; step < Tile::depth; step += group_depth_of(Tile::factor)) {
    uint64_t a =
        operand<Tile::a_along_k, box_bytes, bytes_each>(Tile::a(stage, p) + own_rows, step);
    uint64_t b = operand<Tile::b_along_k, box_bytes, bytes_each>(Tile::b(stage, q), step);
    multiply_group<Tile::factor, Tile::a_along_k, Tile::b_along_k>(sums, a, b, add || step > 0);
  }
}

template <class Tile>
__device__ void let_go(int stage) {
  if (threadIdx.x % 32 == 0) arrive(Tile::empty(stage));
}

// A tile's sums. A stage is let go when the products after it are under way, so that the tensor
// cores always have some.
template <class Tile>
__device__ void sum_products(float (&sums)[Tile::columns / 2], int slices, int group,
                             Turn<Tile::stages>& turn) {
  int before = 0;
  for (int slice = 0; slice < slices; ++slice, turn.next()) {
    wait_for_arrivals(Tile::full(turn.stage), turn.parity);
    begin_products();
    multiply_slices<Tile>(sums, turn.stage, 0, 0, group, slice > 0);
    commit_products();
    wait_for_products<1>();
    if (slice > 0) let_go<Tile>(before);
    before = turn.stage;
  }
  wait_for_products<0>();
  take_products(sums);
  let_go<Tile>(before);
}

// The same of numbers in parts. Of the parts' products those are formed that are not too small to
// matter, the smallest first. The tensor cores cut off what sums cannot hold, always towards zero;
// so theirs go no further than a slice, and what comes of it is rounded to nearest.
template <class Tile>
__device__ void sum_parts(float (&sums)[Tile::columns / 2], int slices, int group,
                          Turn<Tile::stages>& turn) {
  for (int slice = 0; slice < slices; ++slice, turn.next()) {
    float of_slice[Tile::columns / 2];
    wait_for_arrivals(Tile::full(turn.stage), turn.parity);
    begin_products();
    MT_UNROLL for (int sum = Tile::parts - 1; sum >= 0; --sum) {
      MT_UNROLL for (int p = 0; p <= sum; ++p) {
        const bool add = sum < Tile::parts - 1 || p > 0;
        multiply_slices<Tile>(of_slice, turn.stage, p, sum - p, group, add);
      }
    }
    commit_products();
    wait_for_products<0>();
    take_products(of_slice);
    let_go<Tile>(turn.stage);
    MT_UNROLL for (int i = 0; i < Tile::columns / 2; ++i) sums[i] += of_slice[i];
  }
}

// A warpgroup's work.
template <class Tile, bool hands_over>
__device__ void multiply_tiles(const ContractionView& c, int group) {
  Turn<Tile::stages> turn;
  Turn<handed_over> over;
  for_each_tile<Tile>(c, [&](const TileWork& work) {
    float sums[Tile::columns / 2] = {};
    const int slices = count_slices<Tile>(work);
    if constexpr (Tile::parts == 1) {
      sum_products<Tile>(sums, slices, group, turn);
    } else {
      sum_parts<Tile>(sums, slices, group, turn);
    }
    store_tile<Tile>(c, work, group, sums);
    if constexpr (hands_over) {
      wait_for_arrivals(Tile::finished(over.stage),
                        over.parity ^ 1);  // the one before in this turn
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(Tile::stored(over.stage));
      over.next();
    }
  });
}

struct NothingFollows {
  static constexpr int together = 0;
};

// The work of a warp of `finishing`: follow(at, count) does what follows from up to
// Follow::together elements.
constexpr int finishing = group_threads / 32 - 1;
template <class Tile, class Follow>
__device__ void finish_tiles(const ContractionView& c, int warp, const Follow& follow) {
  constexpr int together = Follow::together;
  const int lane = static_cast<int>(threadIdx.x % 32), n = static_cast<int>(c.n);
  Turn<handed_over> over;
  for_each_tile<Tile>(c, [&](const TileWork& work) {
    wait_for_arrivals(Tile::stored(over.stage), over.parity);
    const int rows_left = static_cast<int>(c.m) - work.row;
    const int rows = rows_left < tile_rows ? rows_left : tile_rows;
    const int end = n - work.column < Tile::columns ? n : work.column + Tile::columns;
    for (int row = warp; row < rows; row += finishing) {
      const int64_t line = (work.slab * c.m + work.row + row) * c.n;
      for (int column = work.column + lane; column < end; column += 32 * together) {
        int64_t at[together];
        MT_UNROLL for (int i = 0; i < together; ++i) at[i] = line + column + 32 * i;
        const int left = (end - column + 31) / 32;
        follow(at, left < together ? left : together);
      }
    }
    __syncwarp();
    if (lane == 0) arrive(Tile::finished(over.stage));
    over.next();
  });
}

template <class Tile, class Follow>
__device__ void make_hopper_tiles(const ContractionView* call, const TensorMap& a,
                                  const TensorMap& b, const Follow& follow) {
#if MT_ON_HOPPER
  constexpr bool follows = Follow::together > 0;
  constexpr unsigned multiplying_warps = multiplying * group_threads / 32;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Tile::stages; ++stage) {
      make_arrivals(Tile::full(stage), 1);
      make_arrivals(Tile::empty(stage), multiplying_warps);
    }
    for (int turn = 0; turn < handed_over && follows; ++turn) {
      make_arrivals(Tile::stored(turn), multiplying_warps);
      make_arrivals(Tile::finished(turn), finishing);
    }
    publish_arrivals();
  }
  __syncthreads();
  const ContractionView& c = view(call);
  const int group = static_cast<int>(threadIdx.x) / group_threads;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (group > 0) {
    multiply_tiles<Tile, follows>(c, group - 1);
  } else if (threadIdx.x == 0) {
    copy_tiles<Tile>(c, a, b);
  } else if constexpr (follows) {
    if (warp > 0) finish_tiles<Tile>(c, warp - 1, follow);
  }
#endif
}

}  // namespace mt::cuda
