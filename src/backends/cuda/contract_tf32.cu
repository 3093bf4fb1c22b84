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
#include "backends/cuda/matrix_tile.h"

namespace mt::cuda {
namespace {

template <bool a_along_k, bool b_along_k>
using Tf32Tile = MatrixTile<Factor::tf32, a_along_k, b_along_k, 1, 16, 3>;

template <class Tile>
__global__ void __launch_bounds__(matrix_threads, 2) tf32_kernel(const ContractionView* call) {
  make_matrix_tile<Tile>(view(call), 0, 0);
}

}  // namespace

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
