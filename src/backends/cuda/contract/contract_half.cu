// SPDX-License-Identifier: Apache-2.0
// Contractions of matrices of 16-bit floats on the tensor cores (matrix_tile.h); and of float32
// that has been split into such (contract_split.cu).
//
// Shapes: slices are 32 deep, three of them in turn; with three parts to a number 16 deep, two in
// turn.
#include "backends/cuda/contract/matrix_tile.h"

namespace mt::cuda {
namespace {

template <Factor factor, bool a_along_k, bool b_along_k>
using HalfTile = MatrixTile<factor, a_along_k, b_along_k, 1, 32, 3>;

template <class Tile>
__global__ void __launch_bounds__(matrix_threads, 2) half_kernel(const ContractionView* call) {
  make_matrix_tile<Tile>(view(call), 0, 0);
}
template <Factor factor>
void launch_of(const ContractionView* call, const ContractionShape& shape, Stream stream) {
  with_layouts(shape, [&](auto a, auto b) {
    using Tile = HalfTile<factor, a.value, b.value>;
    launch("contract half", half_kernel<Tile>, matrix_blocks(shape), {matrix_threads}, Tile::bytes,
           stream, call);
  });
}

template <int parts>
using SplitTile = MatrixTile<Factor::bfloat16, true, true, parts, 16, 2>;

template <class Tile>
__global__ void __launch_bounds__(matrix_threads) split_product_kernel(const SplitView* call) {
  const SplitView& c = view(call);
  make_matrix_tile<Tile>(c.product, c.a_part, c.b_part);
}
template <class Tile>
void launch_product_of(const SplitView* call, const ContractionShape& shape, Stream stream) {
  launch("contract split", split_product_kernel<Tile>, matrix_blocks(shape), {matrix_threads},
         Tile::bytes, stream, call);
}

}  // namespace

void launch_contract_half(const ContractionView* call, const ContractionShape& shape,
                          Stream stream) {
  bool bfloat = shape.factor == Factor::bfloat16;
  (bfloat ? launch_of<Factor::bfloat16> : launch_of<Factor::float16>)(call, shape, stream);
  launch_float_panels(call, shape, stream);
}

void launch_split_product(const SplitView* call, const ContractionShape& shape, Stream stream) {
  auto of_parts =
      shape.parts == 3 ? launch_product_of<SplitTile<3>> : launch_product_of<SplitTile<1>>;
  of_parts(call, shape, stream);
}

}  // namespace mt::cuda
