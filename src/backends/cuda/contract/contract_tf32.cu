// SPDX-License-Identifier: Apache-2.0
// Contractions of float32 matrices on the tensor cores as TF32 (ops/precision.h, matrix_tile.h).
//
// Idea: the numbers come to shared memory as they are, and are rounded on their way from there to
// the fragments. So nothing is read or written beside the product itself; what it costs is that a
// number is rounded by each warp that takes it, four or two. TF32 has float32's exponents, so that
// no number has to be refused.
//
// Shapes: slices are 16 deep, as many bytes as 32 numbers of 16 bits; three of them in turn. What
// lies along the rows cannot be turned around by ldmatrix, and is fetched word by word, from rows
// whose length keeps a warp's 32 words in 32 banks.
//
// On Hopper bulk copies do the rounding (contract_hopper.cu), and the tensor cores want both
// operands along k: one that is not is turned around first, by blocks that take 32 rows by 32
// steps. That is 8 bytes of memory for each of its numbers, for as many multiply-adds as the result
// has rows or columns.
#include "backends/cuda/contract/matrix_tile.h"
#include "base/rounding.h"

namespace mt::cuda {
namespace {

template <bool a_along_k, bool b_along_k>
using Tf32Tile = MatrixTile<Factor::tf32, a_along_k, b_along_k, 1, 16, 3>;

template <class Tile>
__global__ void __launch_bounds__(matrix_threads, 2) tf32_kernel(const ContractionView* call) {
  make_matrix_tile<Tile>(view(call), 0, 0);
}

constexpr int side = 32, pitch = side + 1;

// The operand's entries as [rows, k].
template <bool of_b>
__global__ void __launch_bounds__(matrix_threads)
    turn_kernel(const ContractionView* call, float* to) {
  const ContractionView& c = view(call);
  const AxesView& batches = of_b ? c.b_batch : c.a_batch;
  const int64_t rows = of_b ? c.n : c.m, k_stride = (of_b ? c.b_k : c.a_k).stride[0];
  const int64_t row_blocks = (rows + side - 1) / side, k_blocks = (c.k + side - 1) / side;
  const int64_t batch = blockIdx.x / (row_blocks * k_blocks);
  const int64_t id = blockIdx.x % (row_blocks * k_blocks);
  const int64_t first = id % row_blocks * side, k_first = id / row_blocks * side;
  auto from = reinterpret_cast<const float*>(of_b ? c.b : c.a) + offset(batches, batch);
  auto numbers = shared<float>();  // [side, pitch]
  const int in_line = static_cast<int>(threadIdx.x) % side;
  for (int line = static_cast<int>(threadIdx.x) / side; line < side;
       line += matrix_threads / side) {
    const int64_t row = first + in_line, k = k_first + line;
    if (row < rows && k < c.k) numbers[line * pitch + in_line] = load(from, k * k_stride + row);
  }
  __syncthreads();
  for (int line = static_cast<int>(threadIdx.x) / side; line < side;
       line += matrix_threads / side) {
    const int64_t row = first + line, k = k_first + in_line;
    if (row >= rows || k >= c.k) continue;
    const float number = numbers[in_line * pitch + line];
    store(to, (batch * rows + row) * c.k + k, number);
  }
}

}  // namespace

void launch_turn(const ContractionView* call, const ContractionShape& shape, bool of_b,
                 int64_t entries, void* to, Stream stream) {
  int64_t blocks = entries * divide_up(of_b ? shape.n : shape.m, side) * divide_up(shape.k, side);
  launch("contract turn", of_b ? turn_kernel<true> : turn_kernel<false>,
         {static_cast<unsigned>(blocks)}, {matrix_threads}, side * pitch * sizeof(float), stream,
         call, static_cast<float*>(to));
}

void launch_contract_tf32(const ContractionView* call, const ContractionShape& shape,
                          Stream stream) {
  with_layouts(shape, [&](auto a, auto b) {
    using Tile = Tf32Tile<a.value, b.value>;
    launch("contract tf32", tf32_kernel<Tile>, matrix_blocks(shape), {matrix_threads}, Tile::bytes,
           stream, call);
  });
  launch_float_panels(call, shape, stream);
}

}  // namespace mt::cuda
