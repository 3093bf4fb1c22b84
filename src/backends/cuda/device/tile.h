// SPDX-License-Identifier: Apache-2.0
// A block's tile of a product, in its threads' registers: Y x X threads have R x C sums each, in
// groups of 4 x 4 that lie as far apart as there are threads, so that a thread takes what it needs
// of a step from shared memory in a few vectors of 4 and a warp's vectors lie side by side.
//
// A step reads R + C numbers for R C multiply-adds. Shared memory gives a warp 32 numbers in the
// time in which the processor does 128 multiply-adds: 8 x 8 sums are more than enough, and 4 x 4
// just so.
#pragma once

#include "backends/cuda/device/grid.h"

namespace mt::cuda {

__device__ inline float multiply_add(float a, float b, float sum) { return fmaf(a, b, sum); }
__device__ inline double multiply_add(double a, double b, double sum) { return fma(a, b, sum); }
__device__ inline uint64_t multiply_add(uint64_t a, uint64_t b, uint64_t sum) {
  return a * b + sum;
}

template <class T>
struct alignas(16) Four {
  T at[4];
};

template <class T, int Y, int R, int X, int C>
struct Tile {
  static constexpr int threads = Y * X, rows = Y * R, columns = X * C;
  static constexpr int own_rows = R, own_columns = C;
  // Of a step in shared memory: what is written along k, as it is often fetched, falls into
  // different banks.
  static constexpr int row_pitch = rows + 4, column_pitch = columns + 4;
  static constexpr size_t row_bytes = row_pitch * sizeof(T);
  static constexpr size_t column_bytes = column_pitch * sizeof(T);

  T sums[R][C] = {};

  static __device__ int x() { return static_cast<int>(threadIdx.x) % X; }
  static __device__ int y() { return static_cast<int>(threadIdx.x) / X; }
  // Which row and column of the tile sums[i][j] is.
  static __device__ int row(int i) { return (i / 4 * Y + y()) * 4 + i % 4; }
  static __device__ int column(int j) { return (j / 4 * X + x()) * 4 + j % 4; }

  // Leaves the sums at these bytes of shared memory: [columns][rows], rows `row_pitch` apart.
  __device__ void put(size_t to) const {
    auto at = shared<Four<T>>(to);
    MT_UNROLL for (int i = 0; i < R; i += 4) {
      MT_UNROLL for (int j = 0; j < C; ++j) {
        at[column(j) * (row_pitch / 4) + row(i) / 4] =
            Four<T>{sums[i][j], sums[i + 1][j], sums[i + 2][j], sums[i + 3][j]};
      }
    }
  }

  // Adds the products of `steps` rows and columns, which lie at these bytes of shared memory, one
  // step after the other.
  __device__ void multiply(size_t left, size_t right, int steps) {
    auto as = shared<Four<T>>(left), bs = shared<Four<T>>(right);
    for (int step = 0; step < steps; ++step) {
      Four<T> a[R / 4], b[C / 4];
      MT_UNROLL for (int i = 0; i < R / 4; ++i) a[i] = as[step * (row_pitch / 4) + i * Y + y()];
      MT_UNROLL for (int j = 0; j < C / 4; ++j) b[j] = bs[step * (column_pitch / 4) + j * X + x()];
      MT_UNROLL for (int i = 0; i < R; ++i) {
        MT_UNROLL for (int j = 0; j < C; ++j) {
          sums[i][j] = multiply_add(a[i / 4].at[i % 4], b[j / 4].at[j % 4], sums[i][j]);
        }
      }
    }
  }
};

}  // namespace mt::cuda
