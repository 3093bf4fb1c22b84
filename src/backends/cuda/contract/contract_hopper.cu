// SPDX-License-Identifier: Apache-2.0
// Contractions of matrices of 16-bit floats on Hopper's tensor cores (hopper_product.h); of float32
// that has become such, whole or in parts (contract_split.cu); and of float32 as TF32, which bulk
// copies round to nearest, of equally near ones to the even. (The tensor cores themselves would cut
// off what they do not take.)
//
// Shapes: a tile is 128 x 256 where that makes enough of them for all processors, else 128 x 128;
// slices are 128 bytes deep, four or six in the ring, 192 KiB. A block goes from tile to tile:
// there are as many blocks as processors, and tile t belongs to block t % blocks, so that the order
// of everything depends on the shapes and the device alone.
#include "backends/cuda/contract/contract_finish.h"
#include "backends/cuda/contract/hopper_product.h"

namespace mt::cuda {
namespace {

template <class Tile>
__global__ void __launch_bounds__(block_threads, 1)
    hopper_kernel(const ContractionView* call, const __grid_constant__ TensorMap a,
                  const __grid_constant__ TensorMap b) {
  make_hopper_tiles<Tile>(call, a, b, NothingFollows());
}

template <class Tile>
void launch_tiles(const ContractionView* call, const HopperOperands& operands,
                  const ContractionShape& shape, int64_t processors, Stream stream) {
  static_assert(block_threads == hopper_threads && Tile::bytes <= hopper_shared_bytes);
  const int64_t blocks = hopper_blocks(shape, Tile::columns, processors);
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
using Launch = void (*)(const ContractionView*, const HopperOperands&, const ContractionShape&,
                        int64_t, Stream);
template <int columns>
Launch launch_of_factor(Factor factor) {
  if (factor == Factor::bfloat16) return launch_of<Factor::bfloat16, columns>;
  if (factor == Factor::float16) return launch_of<Factor::float16, columns>;
  return launch_tiles<HopperTile<Factor::tf32, true, true, columns>>;
}
// In three parts there are sums of two kinds, and room for half as many; and two stages, with all
// parts of a slice in each.
template <int columns, int parts>
using SplitTile = HopperTile<Factor::bfloat16, true, true, columns, parts>;

}  // namespace

void launch_contract_hopper(const ContractionView* call, const HopperOperands& operands,
                            const ContractionShape& shape, int64_t processors, Stream stream) {
  auto of_columns = operands.columns == 256 ? launch_of_factor<256> : launch_of_factor<128>;
  of_columns(shape.factor)(call, operands, shape, processors, stream);
  launch_float_panels(call, shape, stream);
}

void launch_hopper_split_product(const SplitView* split, const HopperOperands& operands,
                                 const ContractionShape& shape, int64_t processors, Stream stream) {
  auto chosen = shape.parts == 3          ? launch_tiles<SplitTile<128, 3>>
                : operands.columns == 256 ? launch_tiles<SplitTile<256, 1>>
                                          : launch_tiles<SplitTile<128, 1>>;
  static_assert(offsetof(SplitView, product) == 0);
  chosen(reinterpret_cast<const ContractionView*>(split), operands, shape, processors, stream);
}

}  // namespace mt::cuda
