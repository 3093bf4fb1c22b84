// SPDX-License-Identifier: Apache-2.0
// Contractions of float32 in a precision mode (ops/precision.h), on the tensor cores.
//
// Idea: both operands become bfloat16, rounded or as the sum of three parts, each of which takes
// what those before have left; whatever their layout, they then lie along k, as the tensor cores'
// kernels want them (contract_half.cu, contract_hopper.cu). On the way the blocks look at the
// numbers. An entry with numbers that the tensor cores would treat otherwise than float32
// arithmetic (ops/bfloat16_split.h) is refused, and computed strictly by the kernel that follows,
// which leaves the others as they are. The host is never asked.
//
// Shapes: a block splits 32 rows by 32 steps of k, turned around in shared memory where it must be.
//
// Limit: memory: 4 bytes are read and 2 or 6 written for each number, for as many multiply-adds as
// the result has columns or rows.
#include "backends/cuda/contract/contract_finish.h"
#include "base/rounding.h"
#include "ops/bfloat16_split.h"

namespace mt::cuda {
namespace {

constexpr int threads = 256, side = 32, pitch = side + 1;
constexpr int warps = threads / 32;

// All threads' together, in thread 0.
__device__ Magnitudes join(Magnitudes own, size_t at) {
  auto join_two = [](Magnitudes a, Magnitudes b) {
    return Magnitudes{a.most > b.most ? a.most : b.most, a.least < b.least ? a.least : b.least};
  };
  for (unsigned apart = 16; apart > 0; apart /= 2) {
    own = join_two(own, {__shfl_down_sync(0xffffffff, own.most, apart),
                         __shfl_down_sync(0xffffffff, own.least, apart)});
  }
  auto of_warps = shared<Magnitudes>(at);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = own;
  __syncthreads();
  for (int w = 1; w < warps && threadIdx.x == 0; ++w) own = join_two(own, of_warps[w]);
  return own;
}

__device__ int64_t blocks_of(int64_t rows, int64_t k) {
  return (rows + side - 1) / side * ((k + side - 1) / side);
}

template <int parts, bool of_b>
__global__ void __launch_bounds__(threads)
    split_kernel(const ContractionView* call, const SplitView* split) {
  const ContractionView& c = view(call);
  const SplitView& to = view(split);
  const AxesView &batches = of_b ? c.b_batch : c.a_batch, &ks = of_b ? c.b_k : c.a_k;
  const AxesView& rows = of_b ? c.b_rows : c.a_rows;
  bool along_k = of_b ? c.b_along_k : c.a_along_k;
  int64_t count = of_b ? c.n : c.m, k8 = to.product.k, blocks = blocks_of(count, k8);
  int64_t batch = blockIdx.x / blocks, id = blockIdx.x % blocks, k_blocks = (k8 + side - 1) / side;
  int64_t first = id / k_blocks * side, k_first = id % k_blocks * side;
  auto from = reinterpret_cast<const float*>(of_b ? c.b : c.a) + offset(batches, batch);

  auto numbers = shared<float>();  // [side, pitch]
  Magnitudes seen;
  for (int i = static_cast<int>(threadIdx.x); i < side * side; i += threads) {
    int row = along_k ? i / side : i % side, step = along_k ? i % side : i / side;
    float x = 0;
    if (first + row < count && k_first + step < c.k) {
      x = load(from, offset(rows, first + row) + offset(ks, k_first + step));
    }
    numbers[row * pitch + step] = x;
    uint32_t magnitude = static_cast<uint32_t>(pack(x)) & 0x7fffffff;
    seen.most = magnitude > seen.most ? magnitude : seen.most;
    seen.least = magnitude - 1 < seen.least ? magnitude - 1 : seen.least;
  }
  seen = join(seen, side * pitch * sizeof(float));
  int64_t before = of_b ? c.batch * blocks_of(c.m, k8) : 0;
  if (threadIdx.x == 0) store(to.seen, before + blockIdx.x, seen);

  auto pairs = reinterpret_cast<uint32_t*>(const_cast<char*>(of_b ? to.product.b : to.product.a));
  int64_t part = of_b ? to.b_part : to.a_part;
  for (int i = static_cast<int>(threadIdx.x); i < side * side / 2; i += threads) {
    int row = i / (side / 2), step = i % (side / 2) * 2;
    if (first + row >= count || k_first + step >= k8) continue;
    float x = numbers[row * pitch + step], y = numbers[row * pitch + step + 1];
    for (int p = 0; p < parts; ++p) {
      uint16_t low = float_to_bfloat16(x), high = float_to_bfloat16(y);
      int64_t at = (batch * parts + p) * part + (first + row) * k8 + k_first + step;
      store(pairs, at / 2, low | static_cast<uint32_t>(high) << 16);
      x = x - bfloat16_to_float(low);
      y = y - bfloat16_to_float(high);
    }
  }
}

// A block for each batch entry.
__global__ void __launch_bounds__(threads) judge_kernel(const SplitView* split, int64_t k) {
  const SplitView& c = view(split);
  int64_t batch = blockIdx.x, k8 = c.product.k;
  Magnitudes both[2];
  int64_t before = 0;
  for (int operand = 0; operand < 2; ++operand) {
    int64_t blocks = blocks_of(operand ? c.product.n : c.product.m, k8);
    Magnitudes all;
    for (int64_t i = threadIdx.x; i < blocks; i += threads) {
      Magnitudes one = load(c.seen, before + batch * blocks + i);
      all.most = one.most > all.most ? one.most : all.most;
      all.least = one.least < all.least ? one.least : all.least;
    }
    both[operand] = join(all, static_cast<size_t>(operand) * warps * sizeof(Magnitudes));
    before += c.product.batch * blocks;
  }
  if (threadIdx.x == 0) store(c.product.refused, batch, !suits_bfloat16(both[0], both[1], k));
}

template <int parts>
void launch_split_of(const ContractionView* call, const SplitView* split,
                     const ContractionShape& shape, Stream stream) {
  size_t bytes = side * pitch * sizeof(float) + warps * sizeof(Magnitudes);
  for (bool of_b : {false, true}) {
    int64_t blocks =
        shape.batch * divide_up(of_b ? shape.n : shape.m, side) * divide_up(shape.k, side);
    launch("contract split", of_b ? split_kernel<parts, true> : split_kernel<parts, false>,
           {static_cast<unsigned>(blocks)}, {threads}, bytes, stream, call, split);
  }
}

}  // namespace

void launch_contract_split(const ContractionView* call, const SplitView* split,
                           const HopperOperands* hopper, const ContractionShape& shape,
                           ContractKernel strict, int64_t processors, Stream stream) {
  (shape.parts == 3 ? launch_split_of<3> : launch_split_of<1>)(call, split, shape, stream);
  launch("contract split", judge_kernel, {static_cast<unsigned>(shape.batch)}, {threads},
         2 * warps * sizeof(Magnitudes), stream, split, shape.k);
  if (hopper) {
    launch_hopper_split_product(split, *hopper, shape, processors, stream);
  } else {
    launch_split_product(split, shape, stream);
  }
  launch_contract(call, shape, strict, stream);
}

}  // namespace mt::cuda
