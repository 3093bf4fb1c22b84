// SPDX-License-Identifier: Apache-2.0
// Contractions: out[b, m, n] = sum over k of a[b, m, k] * b[b, n, k], for operands of any layout.
//
// Idea: a block computes a tile of the result (contract_tile.h). Where few outputs have long sums,
// k is split into panels (ops/order.h), each with a slab [batch, panel, m, n] of partial sums,
// which a second kernel adds pairwise. Matrix-vector products and their like have 16 lanes to an
// output instead, which read memory along k.
//
// Shapes: tiles of float are 128 x 128, 8 x 8 sums for each of 256 threads, where there are enough
// of them for all processors; else 64 x 64; 32 x 32 for small matrices, as batches have them; and
// 256 x 16 or 16 x 256 for few columns or rows: then the other operand is read once. Which of them
// it is, contract_kernels.cpp says.
//
// Limits: the large tile does 64 fused multiply-adds for 16 numbers of shared memory, and should
// come near what multiply-adds allow; the narrow ones and the lanes, near what memory allows.
//
// Every sum is a chain of fused multiply-adds in the order of k: the order that the CPU keeps too.
#include "backends/cuda/contract/contract_finish.h"
#include "backends/cuda/contract/contract_tile.h"
#include "base/rounding.h"

namespace mt::cuda {
namespace {

constexpr int threads = 256;  // of the kernels without tiles
constexpr int lanes = 16;     // of ops/order.h

template <class Block, class T, bool tables, bool converts>
__global__ void __launch_bounds__(Block::threads, sizeof(T) == 4 && Block::threads == 256 ? 2 : 1)
    tile_kernel(const ContractionView* call) {
  make_tile<Block, T, tables, converts>(call, Interpreted{view(call).epilogue});
}

// Sixteen lanes for each output (or its panel), which take every sixteenth element of k.
template <class T>
__global__ void __launch_bounds__(threads) lanes_kernel(const ContractionView* call) {
  const ContractionView& c = view(call);
  int64_t task = (int64_t{blockIdx.x} * threads + threadIdx.x) / lanes;
  int64_t lane = threadIdx.x % lanes, tasks = c.batch * c.panels * c.m * c.n;
  T sum = 0;
  int64_t column = task % c.n, row = task / c.n % c.m, slab = task / (c.n * c.m);
  int64_t batch = slab / c.panels;
  if (task < tasks) {
    int64_t a = offset(c.a_batch, batch) + offset(c.a_rows, row);
    int64_t b = offset(c.b_batch, batch) + offset(c.b_rows, column);
    int64_t k_begin = slab % c.panels * c.panel;
    int64_t k_end = k_begin + c.panel < c.k ? k_begin + c.panel : c.k;
    for (int64_t k = k_begin + lane; k < k_end; k += lanes) {
      sum = multiply_add(load_as<T>(c.a, c.a_dtype, a + offset(c.a_k, k)),
                         load_as<T>(c.b, c.b_dtype, b + offset(c.b_k, k)), sum);
    }
  }
  sum = combine_lanes(Reduction::sum, sum, lanes);
  if (task >= tasks || lane != 0) return;
  if (c.panels > 1) return store(reinterpret_cast<T*>(c.slabs), task, sum);
  int64_t element = (batch * c.m + row) * c.n + column;
  store_sum(c.out, c.out_dtype, element, sum);
  Interpreted{c.epilogue}(element);
}

// Adds the panels of each output: pairs first, then pairs of pairs, whose sums wait in `left` until
// the right one has come.
template <class T>
__global__ void __launch_bounds__(threads) panels_kernel(const ContractionView* call) {
  const ContractionView& c = view(call);
  int64_t element = int64_t{blockIdx.x} * threads + threadIdx.x, matrix = c.m * c.n;
  if (element >= c.batch * matrix) return;
  const T* slabs = reinterpret_cast<const T*>(c.slabs);
  const T* own = slabs + element / matrix * c.panels * matrix + element % matrix;
  T left[8], sum = 0;
  for (int64_t p = 0; p < c.panels; ++p) {
    sum = load(own, p * matrix);
    int level = 0;
    for (; p >> level & 1; ++level) sum = left[level] + sum;
    left[level] = sum;
  }
  int level = 0;
  while (!(c.panels >> level & 1)) ++level;
  sum = left[level];
  for (++level; c.panels >> level; ++level) {
    if (c.panels >> level & 1) sum = left[level] + sum;
  }
  store_sum(c.out, c.out_dtype, element, sum);
  Interpreted{c.epilogue}(element);
}

template <class T>
void launch_panels(const ContractionView* call, const ContractionShape& shape, Stream stream) {
  if (shape.panels == 1) return;
  int64_t outputs = shape.batch * shape.m * shape.n;
  launch("contract panels", panels_kernel<T>,
         {static_cast<unsigned>((outputs + threads - 1) / threads)}, {threads}, 0, stream, call);
}

template <class Block, class T, bool tables, bool converts>
void launch_tiles(const char* name, const ContractionView* call, const ContractionShape& shape,
                  Stream stream) {
  int64_t tiles = divide_up(shape.m, Block::rows) * divide_up(shape.n, Block::columns);
  launch(name, tile_kernel<Block, T, tables, converts>,
         {static_cast<unsigned>(tiles * shape.batch * shape.panels)}, {Block::threads},
         tile_bytes<Block, T, tables, converts>(), stream, call);
}

template <bool tables, int Y, int R, int X, int C>
constexpr auto launch_tile = launch_tiles<Tile<float, Y, R, X, C>, float, tables, false>;

template <bool tables>
void launch_float_tiles(const ContractionView* call, const ContractionShape& shape,
                        ContractKernel kernel, Stream stream) {
  switch (kernel) {
    case ContractKernel::tile_32x32:
      return launch_tile<tables, 8, 4, 8, 4>("contract 32x32", call, shape, stream);
    case ContractKernel::tile_128x128:
      return launch_tile<tables, 16, 8, 16, 8>("contract 128x128", call, shape, stream);
    case ContractKernel::tile_256x16:
      return launch_tile<tables, 64, 4, 4, 4>("contract 256x16", call, shape, stream);
    case ContractKernel::tile_16x256:
      return launch_tile<tables, 4, 4, 64, 4>("contract 16x256", call, shape, stream);
    default: return launch_tile<tables, 16, 4, 16, 4>("contract 64x64", call, shape, stream);
  }
}

template <class T>
void launch_contract_in(const ContractionView* call, const ContractionShape& shape,
                        ContractKernel kernel, Stream stream) {
  if (kernel == ContractKernel::lanes) {
    int64_t tasks = shape.batch * shape.panels * shape.m * shape.n * lanes;
    launch("contract lanes", lanes_kernel<T>,
           {static_cast<unsigned>((tasks + threads - 1) / threads)}, {threads}, 0, stream, call);
  } else if (!std::is_same_v<T, float> || shape.converts) {
    launch_tiles<Tile<T, 16, 4, 16, 4>, T, true, true>("contract", call, shape, stream);
  } else {
    auto of_floats = shape.matrices ? launch_float_tiles<false> : launch_float_tiles<true>;
    of_floats(call, shape, kernel, stream);
  }
  launch_panels<T>(call, shape, stream);
}

}  // namespace

void launch_float_panels(const ContractionView* call, const ContractionShape& shape,
                         Stream stream) {
  launch_panels<float>(call, shape, stream);
}

void launch_contract(const ContractionView* call, const ContractionShape& shape,
                     ContractKernel kernel, Stream stream) {
  if (shape.batch * shape.m * shape.n == 0) return;
  switch (shape.sum) {
    case Compute::f32: return launch_contract_in<float>(call, shape, kernel, stream);
    case Compute::f64: return launch_contract_in<double>(call, shape, kernel, stream);
    default: return launch_contract_in<uint64_t>(call, shape, kernel, stream);
  }
}

}  // namespace mt::cuda
