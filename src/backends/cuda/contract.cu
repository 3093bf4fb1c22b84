// SPDX-License-Identifier: Apache-2.0
// Contractions: out[b, m, n] = sum over k of a[b, m, k] * b[b, n, k], for operands of any layout.
//
// Idea: a block computes a tile of the result. In steps along k its threads bring a slice of both
// operands to shared memory, where each number is then used by a whole row or column of threads;
// each thread keeps a few sums in registers, as far apart as there are threads, so that a warp
// reads and writes neighbouring numbers. Operands that are not matrices (a convolution's windows,
// a transpose) differ only in how the slice is fetched.
//
// Shapes: a tile is [16 R, 16 R] with R x R sums for each of 16 x 16 threads, in steps of 16 along
// k. Where few outputs have long sums, k is split into panels (ops/order.h), each with a slab
// [batch, panel, m, n] of partial sums, which a second kernel adds pairwise. Matrix-vector products
// and their like have 16 lanes to an output instead, which read memory along k.
//
// Every sum is a chain of fused multiply-adds in the order of k: the order that the CPU keeps too.
#include "backends/cuda/contract.h"

namespace mt::cuda {
namespace {

constexpr int side = 16;   // of a block's threads
constexpr int depth = 16;  // of a slice along k
constexpr int threads = side * side;
constexpr int lanes = 16;  // of ops/order.h

template <class T, int R>
__global__ void __launch_bounds__(threads) tile_kernel(const ContractionView* call) {
  constexpr int tile = side * R;
  const ContractionView& c = view(call);
  auto as = shared<T>(), bs = shared<T>(depth * (tile + 1) * sizeof(T));  // [depth, tile + 1]
  int64_t row_tiles = (c.m + tile - 1) / tile, column_tiles = (c.n + tile - 1) / tile;
  int64_t id = blockIdx.x;
  int64_t first_row = id % row_tiles * tile, first_column = id / row_tiles % column_tiles * tile;
  int64_t slab = id / (row_tiles * column_tiles), batch = slab / c.panels;
  int64_t k_begin = slab % c.panels * c.panel;
  int64_t k_end = k_begin + c.panel < c.k ? k_begin + c.panel : c.k;
  const char* a = c.a + offset(c.a_batch, batch) * static_cast<int64_t>(size_of(c.a_dtype));
  const char* b = c.b + offset(c.b_batch, batch) * static_cast<int64_t>(size_of(c.b_dtype));
  int x = static_cast<int>(threadIdx.x % side), y = static_cast<int>(threadIdx.x / side);

  // Neighbouring threads fetch what lies next to each other in memory.
  auto fetch = [&](Shared<T> to, const char* from, Dtype dtype, const AxesView& rows,
                   const AxesView& ks, bool along_k, int64_t first, int64_t count, int64_t k) {
    for (int i = 0; i < R; ++i) {
      int row = along_k ? y + side * i : static_cast<int>(threadIdx.x + threads * i) % tile;
      int step = along_k ? x : static_cast<int>(threadIdx.x + threads * i) / tile;
      if (first + row < count && k + step < k_end) {
        to[step * (tile + 1) + row] =
            load_as<T>(from, dtype, offset(rows, first + row) + offset(ks, k + step));
      }
    }
  };

  T sums[R][R] = {};
  for (int64_t k = k_begin; k < k_end; k += depth) {
    fetch(as, a, c.a_dtype, c.a_rows, c.a_k, c.a_along_k, first_row, c.m, k);
    fetch(bs, b, c.b_dtype, c.b_rows, c.b_k, c.b_along_k, first_column, c.n, k);
    __syncthreads();
    int steps = k_end - k < depth ? static_cast<int>(k_end - k) : depth;
    for (int step = 0; step < steps; ++step) {
      T left[R], right[R];
      for (int i = 0; i < R; ++i) {
        bool within = first_row + y + side * i < c.m;
        left[i] = within ? T(as[step * (tile + 1) + y + side * i]) : T(0);
      }
      for (int j = 0; j < R; ++j) {
        bool within = first_column + x + side * j < c.n;
        right[j] = within ? T(bs[step * (tile + 1) + x + side * j]) : T(0);
      }
      for (int i = 0; i < R; ++i) {
        for (int j = 0; j < R; ++j) sums[i][j] = multiply_add(left[i], right[j], sums[i][j]);
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < R; ++i) {
    for (int j = 0; j < R; ++j) {
      int64_t row = first_row + y + side * i, column = first_column + x + side * j;
      if (row >= c.m || column >= c.n) continue;
      if (c.panels > 1) {
        store(reinterpret_cast<T*>(c.slabs), (slab * c.m + row) * c.n + column, sums[i][j]);
        continue;
      }
      int64_t element = (batch * c.m + row) * c.n + column;
      store_sum(c.out, c.out_dtype, element, sums[i][j]);
      if (c.epilogue != nullptr) finish(c.epilogue, element);
    }
  }
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
  if (c.epilogue != nullptr) finish(c.epilogue, element);
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
  if (c.epilogue != nullptr) finish(c.epilogue, element);
}

template <class T>
void launch_panels(const ContractionView* call, const ContractionShape& shape, Stream stream) {
  if (shape.panels == 1) return;
  int64_t outputs = shape.batch * shape.m * shape.n;
  launch("contract panels", panels_kernel<T>,
         {static_cast<unsigned>((outputs + threads - 1) / threads)}, {threads}, 0, stream, call);
}

template <class T>
void launch_contract_in(const ContractionView* call, const ContractionShape& shape, Stream stream) {
  int64_t outputs = shape.batch * shape.m * shape.n, slabs = shape.batch * shape.panels;
  auto blocks = [](int64_t count) { return Dim3{static_cast<unsigned>(count)}; };
  auto divide_up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  if (shape.lanes > 1) {
    launch("contract lanes", lanes_kernel<T>,
           blocks(divide_up(outputs * shape.panels * lanes, threads)), {threads}, 0, stream, call);
  } else {
    // The larger tile does twice the arithmetic for each number fetched, where there are enough
    // tiles for all processors.
    bool large = shape.m >= 128 && shape.n >= 128 && slabs * shape.m * shape.n >= 128 * 128 * 128;
    int64_t tile = large ? 8 * side : 4 * side;
    size_t bytes = 2 * depth * static_cast<size_t>(tile + 1) * sizeof(T);
    launch("contract", large ? tile_kernel<T, 8> : tile_kernel<T, 4>,
           blocks(divide_up(shape.m, tile) * divide_up(shape.n, tile) * slabs), {threads}, bytes,
           stream, call);
  }
  launch_panels<T>(call, shape, stream);
}

}  // namespace

void launch_float_panels(const ContractionView* call, const ContractionShape& shape,
                         Stream stream) {
  launch_panels<float>(call, shape, stream);
}

void launch_contract(const ContractionView* call, const ContractionShape& shape, Stream stream) {
  if (shape.batch * shape.m * shape.n == 0) return;
  switch (shape.sum) {
    case Compute::f32:
      return launch_contract_in<float>(call, shape, stream);
    case Compute::f64:
      return launch_contract_in<double>(call, shape, stream);
    default:
      return launch_contract_in<uint64_t>(call, shape, stream);
  }
}

}  // namespace mt::cuda
