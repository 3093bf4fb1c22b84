// SPDX-License-Identifier: Apache-2.0
// Contractions of matrices of 16-bit floats on Hopper's tensor cores; and of float32 that has
// become such, whole or in parts (contract_split.cu).
//
// Idea: the threads of a block have different work. One thread of the first warpgroup copies: it
// asks for slices of both operands, box by box (bulk_copy.h), into stages of shared memory that lie
// in a ring. The other two warpgroups multiply (warpgroup_unit.h), each its half of the tile's
// rows. Each stage has two arrival barriers: `full`, when the bytes of its slices have come, and
// `empty`, when both warpgroups have read them. Nobody waits for anything else; the slices of the
// next tile are on their way while the sums of this one are written.
//
// Shapes: a tile is 128 x 256 where that makes enough of them for all processors, else 128 x 128;
// slices are 64 deep, four or six in the ring, 192 KiB. A block goes from tile to tile: there are
// as many blocks as processors, and tile t belongs to block t % blocks, so that the order of
// everything depends on the shapes and the device alone.
//
// Limit: the tensor cores. A warpgroup's product of 64 x 256 x 16 takes 128 cycles, in which it
// reads 10 KiB of shared memory, which gives 16. Both warpgroups end a tile together, and the
// tensor cores wait while the sums are written, which tells where k is short.
#include "backends/cuda/hopper_tile.h"

// In the simulator, and in the code for Hopper alone.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define MT_ON_HOPPER 1
#else
#define MT_ON_HOPPER 0
#endif

namespace mt::cuda {
namespace {

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
    for_each_slice<Tile>(work, [&](int64_t k, int p, int q) {
      size_t full = Tile::full(turn.stage);
      wait_for_arrivals(Tile::empty(turn.stage), turn.parity ^ 1);
      arrive_expecting(full, Tile::a_bytes + Tile::b_bytes);
      copy_slice<Tile::a_along_k, tile_rows>(Tile::a(turn.stage), a, work.row, k, a_first + p,
                                             full);
      copy_slice<Tile::b_along_k, Tile::columns>(Tile::b(turn.stage), b, work.column, k,
                                                 b_first + q, full);
      turn.next();
    });
  });
}

// A warpgroup's work: it lets a stage go when the products after it are under way, so that the
// tensor cores always have some.
template <class Tile>
__device__ void multiply_tiles(const ContractionView& c, int group) {
  auto let_go = [](int stage) {
    if (threadIdx.x % 32 == 0) arrive(Tile::empty(stage));
  };
  const size_t own_rows = static_cast<size_t>(group) * box_bytes;
  Turn<Tile::stages> turn;
  for_each_tile<Tile>(c, [&](const TileWork& work) {
    float sums[Tile::columns / 2] = {};
    int before = 0;
    const int slices = count_slices<Tile>(work);
    for (int slice = 0; slice < slices; ++slice, turn.next()) {
      wait_for_arrivals(Tile::full(turn.stage), turn.parity);
      begin_products();
      MT_UNROLL for (int step = 0; step < tile_depth; step += group_depth) {
        uint64_t a = operand<Tile::a_along_k>(Tile::a(turn.stage) + own_rows, step);
        uint64_t b = operand<Tile::b_along_k>(Tile::b(turn.stage), step);
        multiply_group<Tile::factor, Tile::a_along_k, Tile::b_along_k>(sums, a, b,
                                                                       slice > 0 || step > 0);
      }
      commit_products();
      wait_for_products<1>();
      if (slice > 0) let_go(before);
      before = turn.stage;
    }
    wait_for_products<0>();
    take_products(sums);
    let_go(before);
    store_tile<Tile>(c, work, group, sums);
  });
}

template <class Tile>
__global__ void __launch_bounds__(block_threads, 1)
    hopper_kernel(const ContractionView* call, const __grid_constant__ TensorMap a,
                  const __grid_constant__ TensorMap b) {
#if MT_ON_HOPPER
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Tile::stages; ++stage) {
      make_arrivals(Tile::full(stage), 1);
      make_arrivals(Tile::empty(stage), multiplying * group_threads / 32);
    }
    publish_arrivals();
  }
  __syncthreads();
  const ContractionView& c = view(call);
  int group = static_cast<int>(threadIdx.x) / group_threads;
  if (group > 0) {
    multiply_tiles<Tile>(c, group - 1);
  } else if (threadIdx.x == 0) {
    copy_tiles<Tile>(c, a, b);
  }
#endif
}

template <class Tile>
void launch_tiles(const ContractionView* call, const HopperOperands& operands,
                  const ContractionShape& shape, int64_t processors, Stream stream) {
  auto divide_up = [](int64_t x, int64_t y) { return (x + y - 1) / y; };
  int64_t tiles = divide_up(shape.m, tile_rows) * divide_up(shape.n, Tile::columns);
  int64_t all = tiles * shape.batch * shape.panels, blocks = all < processors ? all : processors;
  const char* name = Tile::columns == 256 ? "contract hopper 128x256" : "contract hopper 128x128";
  launch(name, hopper_kernel<Tile>, {static_cast<unsigned>(blocks)}, {block_threads}, Tile::bytes,
         stream, call, operands.a, operands.b);
}

template <Factor factor, int columns>
void launch_of(const ContractionView* call, const HopperOperands& operands,
               const ContractionShape& shape, int64_t processors, Stream stream) {
  with_layouts(shape, [&](auto a, auto b) {
    launch_tiles<HopperTile<factor, a.value, b.value, columns>>(call, operands, shape, processors,
                                                                stream);
  });
}
template <int columns, int parts>
using SplitTile = HopperTile<Factor::bfloat16, true, true, columns, parts>;

}  // namespace

void launch_contract_hopper(const ContractionView* call, const HopperOperands& operands,
                            const ContractionShape& shape, int64_t processors, Stream stream) {
  constexpr Factor bfloat = Factor::bfloat16, half = Factor::float16;
  const bool of_bfloat = shape.factor == bfloat;
  auto chosen = of_bfloat ? launch_of<bfloat, 128> : launch_of<half, 128>;
  if (operands.columns == 256) chosen = of_bfloat ? launch_of<bfloat, 256> : launch_of<half, 256>;
  chosen(call, operands, shape, processors, stream);
  launch_float_panels(call, shape, stream);
}

void launch_hopper_split_product(const SplitView* split, const HopperOperands& operands,
                                 const ContractionShape& shape, int64_t processors, Stream stream) {
  const bool whole = shape.parts == 1;
  auto chosen = whole ? launch_tiles<SplitTile<128, 1>> : launch_tiles<SplitTile<128, 3>>;
  if (operands.columns == 256) {
    chosen = whole ? launch_tiles<SplitTile<256, 1>> : launch_tiles<SplitTile<256, 3>>;
  }
  static_assert(offsetof(SplitView, product) == 0);
  chosen(reinterpret_cast<const ContractionView*>(split), operands, shape, processors, stream);
}

}  // namespace mt::cuda
