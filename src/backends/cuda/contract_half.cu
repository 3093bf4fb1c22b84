// SPDX-License-Identifier: Apache-2.0
// Contractions of matrices of 16-bit floats, on the tensor cores; and of float32 that has been
// split into such (contract_split.cu).
//
// Idea: a block makes a tile of the result as in contract_tile.h, but a warp multiplies whole
// fragments of it (matrix_unit.h). Slices of both operands come to shared memory as vectors of 8,
// two of them under way while a third is multiplied. They lie there as in memory, along k or along
// the rows, in rows that are a vector longer than they need be, so that no two lanes that fetch a
// fragment meet in a bank; what lies along the rows is turned around on its way to the fragments.
//
// Shapes: a tile is 128 x 128; the 8 warps stand 2 x 4 and make 64 x 32 each, 4 x 4 fragments of 16
// x 8. Slices are 32 deep, and 16 where numbers have three parts. Operands move as vectors of 8, so
// that sizes and strides must be multiples of 8 (suits_matrix_units in prepare_contract.cpp).
//
// Limit: 4096 fused multiply-adds for 12 numbers of 16 bits that a lane fetches: the tensor cores,
// as far as mma reaches them; on Hopper that is two thirds of what wgmma does.
#include "backends/cuda/contract_finish.h"
#include "backends/cuda/copy.h"
#include "backends/cuda/matrix_unit.h"

namespace mt::cuda {
namespace {

constexpr int threads = 256, tile = 128;

struct alignas(16) Vector {
  uint32_t words[4];
};

// One operand's slices: [rows, k] of a matrix.
template <int depth>
struct Slices {
  static constexpr int k_pitch = depth + 8, row_pitch = tile + 8;  // [rows, depth], [depth, rows]
  static constexpr size_t bytes = tile * k_pitch * 2;
  static_assert(bytes >= depth * row_pitch * 2);

  const Vector* data;
  int64_t row_stride, k_stride, rows, first_row, k_end;
  bool along_k;

  // Neighbouring threads copy neighbouring vectors.
  __device__ void fetch(size_t to, int64_t k, int64_t part) const {
    auto vectors = shared<Vector>(to);
    for (int v = static_cast<int>(threadIdx.x); v < tile * depth / 8; v += threads) {
      int row = along_k ? v / (depth / 8) : v % (tile / 8) * 8;
      int step = along_k ? v % (depth / 8) * 8 : v / (tile / 8);
      bool within = first_row + row < rows && k + step < k_end;
      int64_t from = (first_row + row) * row_stride + (k + step) * k_stride + part;
      int at = along_k ? row * k_pitch + step : step * row_pitch + row;
      copy_async(vectors, at / 8, data, from / 8, within);
    }
  }
  // A fragment of 16 rows and 16 steps, or two of 8 rows: its four matrices are (row, k), (row + 8,
  // k), (row, k + 8), (row + 8, k + 8), or with the second and third exchanged.
  template <bool left>
  __device__ void take(uint32_t (&to)[4], size_t from, int row, int step) const {
    int lane = static_cast<int>(threadIdx.x % 32), line = lane % 8, matrix = lane / 8;
    row += (left ? matrix % 2 : matrix / 2) * 8;
    step += (left ? matrix / 2 : matrix % 2) * 8;
    if (along_k) {
      load_matrices<false>(to, from + static_cast<size_t>((row + line) * k_pitch + step) * 2);
    } else {
      load_matrices<true>(to, from + static_cast<size_t>((step + line) * row_pitch + row) * 2);
    }
  }
};

template <int depth>
__device__ Slices<depth> slices_of(const char* data, const AxesView& batch, const AxesView& rows,
                                   const AxesView& ks, int64_t entry, int64_t count, int64_t first,
                                   int64_t k_end, bool along_k) {
  return {reinterpret_cast<const Vector*>(data + 2 * offset(batch, entry)),
          rows.stride[0],
          ks.stride[0],
          count,
          first,
          k_end,
          along_k};
}

// Numbers of `parts` each: of their products those are formed that are not too small to matter,
// the smallest first.
template <bool bfloat, int parts, int depth, int stages>
__device__ void make_tile(const ContractionView& c, int64_t a_part, int64_t b_part) {
  using Operand = Slices<depth>;
  constexpr size_t stage_bytes = 2 * parts * Operand::bytes;
  int64_t row_tiles = (c.m + tile - 1) / tile, column_tiles = (c.n + tile - 1) / tile;
  int64_t tiles = row_tiles * column_tiles, slab = blockIdx.x / tiles, batch = slab / c.panels;
  if (c.refused != nullptr && load(c.refused, batch) != 0) return;
  TilePlace place = place_tile(blockIdx.x % tiles, row_tiles, column_tiles);
  int64_t first_row = place.row * tile, first_column = place.column * tile;
  int64_t k_begin = slab % c.panels * c.panel;
  int64_t k_end = k_begin + c.panel < c.k ? k_begin + c.panel : c.k;
  Operand a =
      slices_of<depth>(c.a, c.a_batch, c.a_rows, c.a_k, batch, c.m, first_row, k_end, c.a_along_k);
  Operand b = slices_of<depth>(c.b, c.b_batch, c.b_rows, c.b_k, batch, c.n, first_column, k_end,
                               c.b_along_k);
  int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;

  auto place_of = [](int stage, int part, bool right) {
    return static_cast<size_t>(stage) * stage_bytes +
           static_cast<size_t>(2 * part + right) * Operand::bytes;
  };
  auto fetch = [&](int64_t k, int stage) {
    if (k < k_end) {
      for (int p = 0; p < parts; ++p) {
        a.fetch(place_of(stage, p, false), k, p * a_part);
        b.fetch(place_of(stage, p, true), k, p * b_part);
      }
    }
    commit_copies();  // a group for each slice, even where there is none
  };
  for (int s = 0; s < stages - 1; ++s) fetch(k_begin + s * depth, s);

  float sums[4][4][4] = {};
  int stage = 0;
  for (int64_t k = k_begin; k < k_end; k += depth) {
    wait_for_copies<stages - 2>();
    __syncthreads();
    fetch(k + (stages - 1) * depth, (stage + stages - 1) % stages);
    for (int step = 0; step < depth && k + step < k_end; step += 16) {
      uint32_t left[parts][4][4], right[parts][2][4];
      MT_UNROLL for (int p = 0; p < parts; ++p) {
        MT_UNROLL for (int i = 0; i < 4; ++i) {
          a.template take<true>(left[p][i], place_of(stage, p, false), warp_row + 16 * i, step);
        }
        MT_UNROLL for (int j = 0; j < 2; ++j) {
          b.template take<false>(right[p][j], place_of(stage, p, true), warp_column + 16 * j, step);
        }
      }
      MT_UNROLL for (int sum = parts - 1; sum >= 0; --sum) {
        MT_UNROLL for (int p = 0; p <= sum; ++p) {
          MT_UNROLL for (int i = 0; i < 4; ++i) {
            MT_UNROLL for (int j = 0; j < 4; ++j) {
              const uint32_t(&pair)[4] = right[sum - p][j / 2];
              uint32_t fragment[2] = {pair[j % 2 * 2], pair[j % 2 * 2 + 1]};
              matrix_multiply_add<bfloat>(sums[i][j], left[p][i], fragment);
            }
          }
        }
      }
    }
    stage = (stage + 1) % stages;
  }

  // The sums are stored before anything follows from them, so that they need no registers then.
  auto element = [&](int i, int j, int r) {  // -1 beyond the result
    int64_t row = first_row + warp_row + 16 * i + lane / 4 + r / 2 * 8;
    int64_t column = first_column + warp_column + 8 * j + lane % 4 * 2 + r % 2;
    return row < c.m && column < c.n ? (slab * c.m + row) * c.n + column : int64_t{-1};
  };
  bool wide = c.panels > 1 || c.out_dtype == Dtype::float32;
  auto floats = reinterpret_cast<float*>(c.panels > 1 ? c.slabs : c.out);
  auto halves = reinterpret_cast<uint16_t*>(c.out);
  MT_UNROLL for (int i = 0; i < 4; ++i) {
    MT_UNROLL for (int j = 0; j < 4; ++j) {
      MT_UNROLL for (int r = 0; r < 4; ++r) {
        int64_t at = element(i, j, r);
        float sum = sums[i][j][r];
        if (at < 0) continue;
        if (wide)
          store(floats, at, sum);
        else
          store(halves, at, bfloat ? cpu::float_to_bfloat16(sum) : cpu::float_to_float16(sum));
      }
    }
  }
  if (c.panels > 1 || c.epilogue == nullptr) return;
  for (int i = 0; i < 64; ++i) {
    int64_t at = element(i / 16, i / 4 % 4, i % 4);
    if (at >= 0) Interpreted{c.epilogue}(at);
  }
}

constexpr int half_depth = 32, half_stages = 3;

template <bool bfloat>
__global__ void __launch_bounds__(threads, 2) half_kernel(const ContractionView* call) {
  make_tile<bfloat, 1, half_depth, half_stages>(view(call), 0, 0);
}

constexpr int split_depth = 16, split_stages = 2;

template <int parts>
__global__ void __launch_bounds__(threads) split_product_kernel(const SplitView* call) {
  const SplitView& c = view(call);
  make_tile<true, parts, split_depth, split_stages>(c.product, c.a_part, c.b_part);
}

Dim3 blocks_of(const ContractionShape& shape) {
  int64_t tiles = (shape.m + tile - 1) / tile * ((shape.n + tile - 1) / tile);
  return {static_cast<unsigned>(tiles * shape.batch * shape.panels)};
}

}  // namespace

void launch_contract_half(const ContractionView* call, const ContractionShape& shape,
                          Stream stream) {
  launch("contract half", shape.bfloat ? half_kernel<true> : half_kernel<false>, blocks_of(shape),
         {threads}, half_stages * 2 * Slices<half_depth>::bytes, stream, call);
  launch_float_panels(call, shape, stream);
}

void launch_split_product(const SplitView* call, const ContractionShape& shape, Stream stream) {
  size_t bytes = split_stages * 2 * Slices<split_depth>::bytes;
  launch("contract split", shape.parts == 3 ? split_product_kernel<3> : split_product_kernel<1>,
         blocks_of(shape), {threads}, bytes * static_cast<size_t>(shape.parts), stream, call);
}

}  // namespace mt::cuda
