// SPDX-License-Identifier: Apache-2.0
// Contractions of matrices of 16-bit floats, on the tensor cores.
//
// Idea: as contract.cu, but a warp multiplies whole fragments of its tile (matrix_unit.h). While it
// does, the next slice of both operands is on its way from memory to registers; between two
// barriers it goes to shared memory. There both operands lie with k innermost, as fragments take
// them; one whose rows are contiguous instead is turned around on the way.
//
// Shapes: a block makes 128 x 128 outputs in steps of 32 along k; its 8 warps stand 2 x 4 and make
// 64 x 32 each, 4 x 4 fragments of 16 x 8. Operands move as vectors of 8, so that sizes and strides
// must be multiples of 8 (suits_matrix_units in prepare.cpp); all others go through contract.cu.
#include "backends/cuda/contract_finish.h"
#include "backends/cuda/matrix_unit.h"

namespace mt::cuda {
namespace {

constexpr int threads = 256;
constexpr int tile = 128;
constexpr int depth = 32;
constexpr int pitch = depth + 8;  // of a row in shared memory: no two lanes of a fragment meet
constexpr int vectors = tile * depth / 8 / threads;  // of an operand's slice, for each thread

struct alignas(16) Vector {
  uint32_t words[4];
};

// One operand's slices: [rows, k] of a matrix.
struct Slices {
  const char* data;
  int64_t row_stride, k_stride, rows, first_row;
  bool along_k;

  // Vector i of this thread: neighbouring threads take neighbouring vectors.
  __device__ void place(int i, int* row, int* k) const {
    int vector = static_cast<int>(threadIdx.x) + threads * i;
    if (along_k) {
      *row = vector / (depth / 8);
      *k = vector % (depth / 8) * 8;
    } else {
      *row = vector % (tile / 8) * 8;
      *k = vector / (tile / 8);
    }
  }
  __device__ void fetch(Vector (&to)[vectors], int64_t k_begin, int64_t k_end) const {
    for (int i = 0; i < vectors; ++i) {
      int row, k;
      place(i, &row, &k);
      to[i] = Vector{};
      if (first_row + row < rows && k_begin + k < k_end) {
        int64_t at = (first_row + row) * row_stride + (k_begin + k) * k_stride;
        to[i] = load(reinterpret_cast<const Vector*>(data + 2 * at));
      }
    }
  }
  __device__ void put(Shared<uint16_t> to, const Vector (&from)[vectors]) const {
    for (int i = 0; i < vectors; ++i) {
      int row, k;
      place(i, &row, &k);
      for (int j = 0; j < 8; ++j) {
        int at = along_k ? row * pitch + k + j : (row + j) * pitch + k;
        to[at] = static_cast<uint16_t>(from[i].words[j / 2] >> 16 * (j % 2));
      }
    }
  }
};

__device__ Slices slices_of(const char* data, const AxesView& batch, const AxesView& rows,
                            const AxesView& ks, int64_t entry, int64_t count, int64_t first,
                            bool along_k) {
  return {data + 2 * offset(batch, entry), offset(rows, 1), offset(ks, 1), count, first, along_k};
}

template <bool bfloat>
__global__ void __launch_bounds__(threads) half_kernel(const ContractionView* call) {
  const ContractionView& c = view(call);
  auto as = shared<uint16_t>(), bs = shared<uint16_t>(tile * pitch * 2);
  auto a_pairs = shared<uint32_t>(), b_pairs = shared<uint32_t>(tile * pitch * 2);
  int64_t row_tiles = (c.m + tile - 1) / tile, column_tiles = (c.n + tile - 1) / tile;
  int64_t id = blockIdx.x;
  int64_t first_row = id % row_tiles * tile, first_column = id / row_tiles % column_tiles * tile;
  int64_t slab = id / (row_tiles * column_tiles), batch = slab / c.panels;
  int64_t k_begin = slab % c.panels * c.panel;
  int64_t k_end = k_begin + c.panel < c.k ? k_begin + c.panel : c.k;
  Slices a = slices_of(c.a, c.a_batch, c.a_rows, c.a_k, batch, c.m, first_row, c.a_along_k);
  Slices b = slices_of(c.b, c.b_batch, c.b_rows, c.b_k, batch, c.n, first_column, c.b_along_k);
  int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  int g = lane / 4, t = lane % 4, warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;

  float sums[4][4][4] = {};
  Vector next_a[vectors], next_b[vectors];
  a.fetch(next_a, k_begin, k_end);
  b.fetch(next_b, k_begin, k_end);
  for (int64_t k = k_begin; k < k_end; k += depth) {
    a.put(as, next_a);
    b.put(bs, next_b);
    __syncthreads();
    if (k + depth < k_end) {
      a.fetch(next_a, k + depth, k_end);
      b.fetch(next_b, k + depth, k_end);
    }
    for (int step = 0; step < depth && k + step < k_end; step += 16) {
      uint32_t left[4][4], right[4][2];
      for (int i = 0; i < 4; ++i) {
        for (int r = 0; r < 4; ++r) {
          int row = warp_row + 16 * i + g + r % 2 * 8;
          left[i][r] = a_pairs[(row * pitch + step + r / 2 * 8) / 2 + t];
        }
        for (int r = 0; r < 2; ++r) {
          int column = warp_column + 8 * i + g;
          right[i][r] = b_pairs[(column * pitch + step + r * 8) / 2 + t];
        }
      }
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          matrix_multiply_add<bfloat>(sums[i][j], left[i], right[j]);
        }
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int r = 0; r < 4; ++r) {
        int64_t row = first_row + warp_row + 16 * i + g + r / 2 * 8;
        int64_t column = first_column + warp_column + 8 * j + 2 * t + r % 2;
        if (row >= c.m || column >= c.n) continue;
        if (c.panels > 1) {
          store(reinterpret_cast<float*>(c.slabs), (slab * c.m + row) * c.n + column,
                sums[i][j][r]);
          continue;
        }
        int64_t element = (batch * c.m + row) * c.n + column;
        store_sum(c.out, c.out_dtype, element, sums[i][j][r]);
        Interpreted{c.epilogue}(element);
      }
    }
  }
}

}  // namespace

void launch_contract_half(const ContractionView* call, const ContractionShape& shape,
                          Stream stream) {
  int64_t tiles = (shape.m + tile - 1) / tile * ((shape.n + tile - 1) / tile);
  launch("contract half", shape.bfloat ? half_kernel<true> : half_kernel<false>,
         {static_cast<unsigned>(tiles * shape.batch * shape.panels)}, {threads},
         2 * tile * pitch * 2, stream, call);
  launch_float_panels(call, shape, stream);
}

}  // namespace mt::cuda
