// SPDX-License-Identifier: Apache-2.0
// What attention of 16-bit floats and its gradient do on the tensor cores (matrix_unit.h).
//
// Operands lie in shared memory as in device memory, a row of `width` numbers after the other, what
// is beyond the operand as zeros. A warp has fragments of 16 rows; it makes products of its rows
// with other rows (scores), and sums of other rows with weights that it has in registers.
#pragma once

#include <cmath>

#include "backends/cuda/attention/attention.h"
#include "backends/cuda/device/copy.h"
#include "backends/cuda/device/matrix_unit.h"

namespace mt::cuda {

constexpr int half_threads = 128, half_warps = half_threads / 32;
constexpr int64_t most_half_rows = 1 << 30;  // which are counted in 32 bits
constexpr float log2_e = 1.44269504f;

// The hardware's own: its error is far below that of the weights' 16 bits.
#ifdef __CUDACC__
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#else
inline float power_of_two(float x) { return std::exp2(x); }
#endif
// exp(x - shift), of numbers of any size: 1 where they are the same.
__device__ inline float exp_from(float x, float shift) {
  return power_of_two((x - shift) * log2_e);
}

// For slopes that may be smaller, or larger, than float16 has numbers for: powers of two, by their
// exponent in a float32: the exponent is 127 more than the power.
__device__ inline float power(int exponent) {
  return unpack<float>(static_cast<Value>(exponent) << 23);
}
// What takes `largest` to [2^14, 2^15), or 2^100 if that is less.
__device__ inline int fitting(float largest) {
  int exponent = static_cast<int>(pack(largest) >> 23);
  return exponent > 41 ? 268 - exponent : 227;
}

// What the four lanes that share rows of a fragment have between them.
template <class Combine>
__device__ float of_four_lanes(float x, Combine&& combine) {
  int lane = static_cast<int>(threadIdx.x % 32);
  x = combine(x, __shfl_sync(0xffffffff, x, lane ^ 1));
  return combine(x, __shfl_sync(0xffffffff, x, lane ^ 2));
}

// What a score becomes before the softmax; kernels for calls without a mask have no code for it.
template <bool masked>
__device__ float seen(const AttentionEntry<float, uint16_t>& of, float score, int query, int key) {
  if (key >= static_cast<int>(of.shape.m)) return -INFINITY;
  if constexpr (masked) {
    return query < static_cast<int>(of.shape.n) ? of.visible(score, query, key) : score;
  }
  return of.shape.causal && key > query ? -INFINITY : score;
}

// Rows are a little longer than they need be, so that no two lanes that fetch a fragment meet in a
// bank.
template <Factor factor, int width>
struct HalfRows {
  static constexpr int pitch = width + 8;
  static constexpr size_t row_bytes = pitch * sizeof(uint16_t);

  // Rows [first, first + count) of a matrix, by all threads.
  template <int count>
  static __device__ void fetch(size_t to, const Matrix<uint16_t>& from, int first) {
    constexpr int in_line = width / 8, apart = half_threads / in_line;
    static_assert(half_threads % in_line == 0 && count % apart == 0);
    int row = static_cast<int>(threadIdx.x) / in_line;
    int column = static_cast<int>(threadIdx.x) % in_line * 8;
    auto vectors = shared<Vector>(to);
    auto source = reinterpret_cast<const Vector*>(from.data);
    int64_t at = ((int64_t{first} + row) * from.row_stride + column) / 8;
    int64_t step = apart * from.row_stride / 8;
    MT_UNROLL for (int i = 0; i < count / apart; ++i, row += apart, at += step) {
      bool within = first + row < from.rows && column < from.columns;
      copy_async(vectors, (row * pitch + column) / 8, source, at, within);
    }
  }

  // products += the products of R fragments of own rows, from `row` on, with 8 C other rows, all of
  // so many columns.
  template <int R, int C>
  static __device__ void multiply(float (&products)[R][C][4], size_t own, int row, size_t others,
                                  int64_t columns) {
    for (int c = 0; c < columns; c += 16) {
      uint32_t left[R][4];
      MT_UNROLL for (int i = 0; i < R; ++i) {
        take_fragment<factor, true, true>(left[i], own, pitch, row + 16 * i, c);
      }
      MT_UNROLL for (int j = 0; j < C; j += 2) {
        uint32_t right[4];
        take_fragment<factor, false, true>(right, others, pitch, 8 * j, c);
        multiply_pair(products, left, right, j);
      }
    }
  }

  // sums += weights[own][others] rows[others][width], for 16 K others.
  template <int R, int K>
  static __device__ void add_weighted(float (&sums)[R][width / 8][4],
                                      const uint32_t (&weights)[K][R][4], size_t rows) {
    MT_UNROLL for (int k = 0; k < K; ++k) {
      MT_UNROLL for (int j = 0; j < width / 8; j += 2) {
        uint32_t right[4];
        take_fragment<factor, false, false>(right, rows, pitch, 8 * j, 16 * k);
        multiply_pair(sums, weights[k], right, j);
      }
    }
  }

  // Products as the left fragments of what follows, rounded.
  template <int R, int C>
  static __device__ void round(uint32_t (&to)[C / 2][R][4], const float (&products)[R][C][4]) {
    MT_UNROLL for (int i = 0; i < R; ++i) {
      MT_UNROLL for (int j = 0; j < C; ++j) {
        MT_UNROLL for (int half = 0; half < 2; ++half) {
          const float(&from)[4] = products[i][j];
          to[j / 2][i][j % 2 * 2 + half] = round_pair<factor>(from[2 * half], from[2 * half + 1]);
        }
      }
    }
  }

 private:
  template <int R, int C>
  static __device__ void multiply_pair(float (&sums)[R][C][4], const uint32_t (&left)[R][4],
                                       const uint32_t (&right)[4], int j) {
    const uint32_t pair[2][2] = {{right[0], right[1]}, {right[2], right[3]}};
    MT_UNROLL for (int i = 0; i < R; ++i) {
      matrix_multiply_add<factor>(sums[i][j], left[i], pair[0]);
      matrix_multiply_add<factor>(sums[i][j + 1], left[i], pair[1]);
    }
  }
};

// Which row and column of a warp's fragments number r of sums[i][j] is.
__device__ inline int fragment_row(int i, int r) {
  return 16 * i + static_cast<int>(threadIdx.x % 32) / 4 + r / 2 * 8;
}
__device__ inline int fragment_column(int j, int r) {
  return 8 * j + static_cast<int>(threadIdx.x % 4) * 2 + r % 2;
}

struct alignas(8) FloatPair {
  float at[2];
};

// Writes a warp's fragments of sums, of which each row is multiplied by factor(i, r / 2), to rows
// [first, end) of a matrix of so many columns, an even number.
template <int R, int C, class Factor>
__device__ void store_fragments(const float (&sums)[R][C][4], float* to, int64_t columns,
                                int64_t first, int64_t end, Factor&& factor) {
  auto pairs = reinterpret_cast<FloatPair*>(to);
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int half = 0; half < 2; ++half) {
      int64_t row = first + fragment_row(i, 2 * half);
      if (row >= end) continue;
      float by = factor(i, half);
      MT_UNROLL for (int j = 0; j < C; ++j) {
        int column = fragment_column(j, 0);
        if (column >= columns) continue;
        const float(&from)[4] = sums[i][j];
        store(pairs, (row * columns + column) / 2,
              FloatPair{from[2 * half] * by, from[2 * half + 1] * by});
      }
    }
  }
}

// Calls f with the factor and the width that the call needs, and whether it has a mask, as types.
template <class F>
void with_half_types(const Call& call, const AttentionShape& shape, bool masked, F&& f) {
  bool narrow = shape.d <= 64 && shape.e <= 64;
  auto with_mask = [&](auto factor, auto width) {
    masked ? f(factor, width, std::true_type()) : f(factor, width, std::false_type());
  };
  auto with_width = [&](auto factor) {
    narrow ? with_mask(factor, std::integral_constant<int, 64>())
           : with_mask(factor, std::integral_constant<int, 128>());
  };
  call.group.inputs[0].dtype == Dtype::bfloat16
      ? with_width(std::integral_constant<Factor, Factor::bfloat16>())
      : with_width(std::integral_constant<Factor, Factor::float16>());
}

}  // namespace mt::cuda
