// SPDX-License-Identifier: Apache-2.0
// Integers and booleans: both operands are brought to uint64, blocks of [rows, k] and [k, columns].
// Blocks of small numbers are multiplied as doubles, which holds a block's sums exactly and takes
// less than half the time. Unsigned arithmetic wraps as every integer type does when it is stored;
// a boolean sum is "any of the products".
#include "backends/cpu/contract/exact.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/exact.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/contract/number.h"
#include "backends/cpu/simd-inl.h"

#ifndef MT_EXACT_BLOCKS
#define MT_EXACT_BLOCKS
namespace mt::cpu {
constexpr int64_t block_rows = 64, block_columns = 64, block_k = 64;
// Of numbers below it block_k products make less than 2^51, up to which doubles are integers with
// room to be told their pattern.
constexpr uint64_t small_number = uint64_t{1} << 22;
}  // namespace mt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Adding 1.5 * 2^52 leaves an integer in the low bits of a double.
constexpr double rounder = 0x1.8p52;

bool all_small(const uint64_t* numbers, int64_t count) {
  const Vectors<uint64_t> d;
  const auto bias = hn::Set(d, small_number);
  auto reach = hn::Zero(d);
  for (int64_t i = 0; i < count; i += lanes_of<uint64_t>) {
    reach = hn::Or(reach, hn::LoadU(d, numbers + i) + bias);
  }
  const auto outside = hn::And(reach, hn::Set(d, ~(2 * small_number - 1)));
  return hn::AllTrue(d, outside == hn::Zero(d));
}
void to_doubles(uint64_t* numbers, int64_t count) {
  const Vectors<uint64_t> d;
  const Vectors<double> doubles;
  const auto offset = hn::Set(doubles, rounder);
  for (int64_t i = 0; i < count; i += lanes_of<double>) {
    auto pattern = hn::LoadU(d, numbers + i) + hn::BitCast(d, offset);
    hn::StoreU(hn::BitCast(d, hn::BitCast(doubles, pattern) - offset), d, numbers + i);
  }
}

HWY_INLINE auto multiply_add(Vectors<double>, hn::Vec<Vectors<double>> x,
                             hn::Vec<Vectors<double>> y, hn::Vec<Vectors<double>> z) {
  return hn::MulAdd(x, y, z);  // exact, fused or not
}
HWY_INLINE auto multiply_add(Vectors<uint64_t>, hn::Vec<Vectors<uint64_t>> x,
                             hn::Vec<Vectors<uint64_t>> y, hn::Vec<Vectors<uint64_t>> z) {
  return x * y + z;
}
HWY_INLINE auto to_integers(Vectors<double> doubles, hn::Vec<Vectors<double>> x) {
  const Vectors<uint64_t> d;
  const auto offset = hn::Set(doubles, rounder);
  return hn::BitCast(d, x + offset) - hn::BitCast(d, offset);
}
HWY_INLINE auto to_integers(Vectors<uint64_t>, hn::Vec<Vectors<uint64_t>> x) { return x; }

// sums[i, j] += sum of a[i, k] b[k, j], for R rows, whole vectors of columns; T is what the
// patterns in a and b stand for.
template <class T, int R>
HWY_INLINE void multiply_rows(const uint64_t* a, const uint64_t* b, int64_t ks, int64_t columns,
                              uint64_t* sums) {
  constexpr int vectors = 4, width = lanes_of<T>;
  static_assert(block_columns % (vectors * width) == 0);
  const Vectors<T> d;
  const Vectors<uint64_t> patterns;
  for (int64_t column = 0; column < columns; column += vectors * width) {
    hn::Vec<Vectors<T>> sum[R][vectors];
    MT_UNROLL for (int i = 0; i < R; ++i) {
      MT_UNROLL for (int v = 0; v < vectors; ++v) sum[i][v] = hn::Zero(d);
    }
    for (int64_t k = 0; k < ks; ++k) {
      hn::Vec<Vectors<T>> y[vectors];
      MT_UNROLL for (int v = 0; v < vectors; ++v) {
        y[v] = hn::BitCast(d, hn::LoadU(patterns, b + k * block_columns + column + v * width));
      }
      MT_UNROLL for (int i = 0; i < R; ++i) {
        const auto x = hn::BitCast(d, hn::Set(patterns, a[i * block_k + k]));
        MT_UNROLL for (int v = 0; v < vectors; ++v) {
          sum[i][v] = multiply_add(d, x, y[v], sum[i][v]);
        }
      }
    }
    MT_UNROLL for (int i = 0; i < R; ++i) {
      MT_UNROLL for (int v = 0; v < vectors; ++v) {
        uint64_t* to = sums + i * block_columns + column + v * width;
        hn::StoreU(hn::LoadU(patterns, to) + to_integers(d, sum[i][v]), patterns, to);
      }
    }
  }
}
template <class T>
HWY_INLINE void multiply(const uint64_t* a, const uint64_t* b, int64_t rows, int64_t ks,
                         int64_t columns, uint64_t* sums) {
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    multiply_rows<T, 4>(a + row * block_k, b, ks, columns, sums + row * block_columns);
  }
  for (; row < rows; ++row) {
    multiply_rows<T, 1>(a + row * block_k, b, ks, columns, sums + row * block_columns);
  }
}
void multiply_blocks(uint64_t* a, uint64_t* b, int64_t rows, int64_t ks, int64_t columns,
                     uint64_t* sums) {
  const int64_t a_count = rows * block_k, b_count = ks * block_columns;
  if (!all_small(a, a_count) || !all_small(b, b_count)) {
    return multiply<uint64_t>(a, b, rows, ks, columns, sums);
  }
  to_doubles(a, a_count);
  to_doubles(b, b_count);
  multiply<double>(a, b, rows, ks, columns, sums);
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(multiply_blocks);

namespace {

// out[i * width + j] = x[outer[i] + inner[j]] as uint64, or whether it is not zero.
void load(Dtype dtype, bool boolean, const void* from, const int64_t* outer, int64_t outer_count,
          const int64_t* inner, int64_t inner_count, int64_t width, uint64_t* out) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < outer_count; ++i) {
      auto data = static_cast<const T*>(from) + outer[i];
      uint64_t* to = out + i * width;
      for (int64_t j = 0; j < inner_count; ++j) {
        if constexpr (std::is_integral_v<T>) {
          to[j] = static_cast<uint64_t>(static_cast<int64_t>(data[inner[j]]));
        } else {
          to[j] = static_cast<uint64_t>(number<int64_t>(data[inner[j]]));
        }
      }
      for (int64_t j = 0; boolean && j < inner_count; ++j) to[j] = to[j] != 0;
      std::fill(to + inner_count, to + width, 0);
    }
  });
}

}  // namespace

size_t exact_scratch() {
  return (block_rows * block_k + block_k * block_columns + block_rows * block_columns) *
         sizeof(uint64_t);
}

void run_exact(const MatrixOperand& a, const void* a_data, const MatrixOperand& b,
               const void* b_data, Dtype out_dtype, const Tile& tile, void* out, void* scratch) {
  uint64_t* as = static_cast<uint64_t*>(scratch);  // [rows, k]
  uint64_t* bs = as + block_rows * block_k;        // [k, columns]
  uint64_t* sums = bs + block_k * block_columns;   // [rows, columns]
  const int64_t m = a.rows.size, n = b.rows.size, k_size = a.k.size;
  const bool boolean = out_dtype == Dtype::boolean;
  int64_t a_rows[block_rows], a_ks[block_k], b_columns[block_columns], b_ks[block_k];
  for (int64_t row = tile.row_begin; row < tile.row_end; row += block_rows) {
    const int64_t rows = std::min(block_rows, tile.row_end - row);
    a.rows.offsets(row, rows, a_rows);
    for (int64_t column = tile.column_begin; column < tile.column_end; column += block_columns) {
      const int64_t columns = std::min(block_columns, tile.column_end - column);
      b.rows.offsets(column, columns, b_columns);
      std::fill(sums, sums + block_rows * block_columns, 0);
      for (int64_t k = 0; k < k_size; k += block_k) {
        const int64_t ks = std::min(block_k, k_size - k);
        a.k.offsets(k, ks, a_ks);
        b.k.offsets(k, ks, b_ks);
        load(a.dtype, boolean, a_data, a_rows, rows, a_ks, ks, block_k, as);
        load(b.dtype, boolean, b_data, b_ks, ks, b_columns, columns, block_columns, bs);
        HWY_DYNAMIC_DISPATCH(multiply_blocks)(as, bs, rows, ks, columns, sums);
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
#endif
