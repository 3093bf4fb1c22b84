// SPDX-License-Identifier: Apache-2.0
// Integers and booleans: both operands are brought to uint64, blocks of [rows, k] and [k, columns],
// and multiplied by plain loops that the compiler turns into vectors. Unsigned arithmetic wraps as
// every integer type does when it is stored; a boolean sum is "any of the products".
#include "backends/cpu/contract/exact.h"

#include <algorithm>

#include "backends/cpu/contract/number.h"

namespace mt::cpu {
namespace {

constexpr int64_t block_rows = 32, block_columns = 64, block_k = 64;

// out[i * row + j * column] = x[first_row + i, first_k + j] as uint64.
void load(const Operand& x, const void* from, int64_t first_row, int64_t rows, int64_t first_k,
          int64_t ks, int64_t row, int64_t column, uint64_t* out) {
  int64_t row_offsets[std::max(block_rows, block_columns)], k_offsets[block_k];
  x.rows.offsets(first_row, rows, row_offsets);
  x.k.offsets(first_k, ks, k_offsets);
  with_type(x.dtype, [&](auto type) {
    auto data = static_cast<const decltype(type)*>(from);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < ks; ++j) {
        auto value = data[row_offsets[i] + k_offsets[j]];
        if constexpr (std::is_integral_v<decltype(type)>) {
          out[i * row + j * column] = static_cast<uint64_t>(static_cast<int64_t>(value));
        } else {
          out[i * row + j * column] = static_cast<uint64_t>(number<int64_t>(value));
        }
      }
    }
  });
}

}  // namespace

size_t exact_scratch() {
  return (block_rows * block_k + block_k * block_columns + block_rows * block_columns) *
         sizeof(uint64_t);
}

void run_exact(const Operand& a, const void* a_data, const Operand& b, const void* b_data,
               Dtype out_dtype, const Tile& tile, void* out, void* scratch) {
  uint64_t* as = static_cast<uint64_t*>(scratch);  // [rows, k]
  uint64_t* bs = as + block_rows * block_k;        // [k, columns]
  uint64_t* sums = bs + block_k * block_columns;   // [rows, columns]
  const int64_t m = a.rows.size, n = b.rows.size, k_size = a.k.size;
  const bool boolean = out_dtype == Dtype::boolean;
  for (int64_t row = tile.row_begin; row < tile.row_end; row += block_rows) {
    const int64_t rows = std::min(block_rows, tile.row_end - row);
    for (int64_t column = tile.column_begin; column < tile.column_end; column += block_columns) {
      const int64_t columns = std::min(block_columns, tile.column_end - column);
      std::fill(sums, sums + block_rows * block_columns, 0);
      for (int64_t k = 0; k < k_size; k += block_k) {
        const int64_t ks = std::min(block_k, k_size - k);
        load(a, a_data, row, rows, k, ks, block_k, 1, as);
        load(b, b_data, column, columns, k, ks, 1, block_columns, bs);
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < ks; ++j) {
            const uint64_t x = as[i * block_k + j];
            const uint64_t* y = bs + j * block_columns;
            uint64_t* sum = sums + i * block_columns;
            if (boolean) {
              for (int64_t l = 0; l < columns; ++l) sum[l] |= (x != 0) & (y[l] != 0);
            } else {
              for (int64_t l = 0; l < columns; ++l) sum[l] += x * y[l];
            }
          }
        }
      }
      with_type(out_dtype, [&](auto type) {
        using Out = decltype(type);
        for (int64_t i = 0; i < rows; ++i) {
          Out* to = static_cast<Out*>(out) + (tile.batch * m + row + i) * n + column;
          for (int64_t j = 0; j < columns; ++j) to[j] = number<Out>(sums[i * block_columns + j]);
        }
      });
    }
  }
}

}  // namespace mt::cpu
