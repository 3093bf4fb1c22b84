// SPDX-License-Identifier: Apache-2.0
// Integers and booleans, in blocks of [rows, k] and [k, columns], converted to the type of the
// sums: unsigned, of 32 or 64 bits, so that stored sums wrap as any integer type does. Blocks of
// small 64-bit numbers are multiplied as doubles, which hold a block's sums exactly and take less
// than half the time. A boolean sum counts the products that are true.
#include "backends/cpu/contract/exact.h"

#include <algorithm>

#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/integer_kernels.h"
#include "backends/cpu/contract/number.h"
#include "backends/cpu/elementwise/kernels.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t block_rows = 64, block_columns = 64, block_terms = most_small_terms;
constexpr int64_t dot_terms = 512, dot_rows = 4096;  // at a time
static_assert(dot_rows + 2 * dot_terms <= block_rows * block_terms + block_terms * block_columns);
// With fewer rows a product is done before its numbers would be converted to doubles.
constexpr int64_t fewest_rows_of_doubles = 5;

// Element [i, j] of a block lies at data[i * row + j * step]; in a block of b, i is the term.
template <class T>
struct Part {
  const T* data;
  int64_t row, step;
};

// out[i * pitch + j] = from[outer[i] + inner[j]], for booleans != 0; then zeros up to the pitch.
template <class Stored, class T>
void gather_integers(bool boolean, const void* from, const int64_t* outer, int64_t outer_count,
                     const int64_t* inner, int64_t inner_count, int64_t pitch, T* out) {
  for (int64_t i = 0; i < outer_count; ++i) {
    const auto* data = static_cast<const Stored*>(from) + outer[i];
    T* to = out + i * pitch;
    for (int64_t j = 0; j < inner_count; ++j)
      to[j] = boolean ? data[inner[j]] != 0 : data[inner[j]];
    std::fill(to + inner_count, to + pitch, 0);
  }
}
template <class T>
Part<T> load(Dtype dtype, const void* from, const int64_t* outer, int64_t outer_count,
             const int64_t* inner, int64_t inner_count, T* out) {
  const int64_t pitch = round_up(inner_count, int64_t{16});  // whole vectors
  if (has_kernels(dtype, dtype_of<T>) && neighbours(inner, inner_count)) {
    const Kernel load = load_kernel(pattern_of(dtype));
    for (int64_t i = 0; i < outer_count; ++i) {
      const void* line = static_cast<const char*>(from) +
                         (outer[i] + inner[0]) * static_cast<int64_t>(size_of(dtype));
      load(out + i * pitch, &line, inner_count);
      std::fill(out + i * pitch + inner_count, out + (i + 1) * pitch, 0);
    }
    return {out, pitch, 1};
  }
  const auto as = [&](auto stored) {
    gather_integers<decltype(stored)>(dtype == Dtype::boolean, from, outer, outer_count, inner,
                                      inner_count, pitch, out);
  };
  if constexpr (sizeof(T) == 8) {
    dtype == Dtype::boolean ? as(uint8_t()) : as(uint64_t());
  } else if (size_of(dtype) == 1) {
    as(uint8_t());
  } else if (size_of(dtype) == 2) {
    as(uint16_t());
  } else {
    as(uint32_t());
  }
  return {out, pitch, 1};
}

template <class T>
void store_sums(Dtype dtype, const T* sums, int64_t count, void* to) {
  if (dtype == Dtype::boolean) {
    for (int64_t i = 0; i < count; ++i) static_cast<bool*>(to)[i] = sums[i] != 0;
  } else {
    const void* const from = sums;
    store_kernel(pattern_of(dtype))(to, &from, count);
  }
}

// sums[i, j] (+)= sum of a[i, k] b[k, j].
template <class T>
void multiply(const Part<T>& a, const Part<T>& b, int64_t rows, int64_t terms, int64_t columns,
              bool first, T* sums) {
  const StridedKernels kernels = strided_kernels(dtype_of<T>);
  const int vectors = kernels.vectors_for(rows, columns), most = kernels.rows_for(vectors);
  const int64_t panel = vectors * kernels.lanes;
  MicroTile<T> tile{};
  tile.k = terms;
  tile.a_row = a.row;
  tile.a_k = a.step;
  tile.b_k = b.row;
  tile.c_row = tile.from_row = block_columns;
  tile.first = first;
  for (int64_t column = 0; column < columns; column += panel) {
    tile.columns = std::min(panel, columns - column);
    tile.b = b.data + column;
    const auto width = static_cast<int>(divide_up(tile.columns, int64_t{kernels.lanes}));
    for (int64_t row = 0; row < rows; row += most) {
      tile.a = a.data + row * a.row;
      tile.c = sums + row * block_columns + column;
      tile.from = tile.c;
      const int height = static_cast<int>(std::min<int64_t>(most, rows - row));
      run_kernel(kernels.find(height, width, true), tile);
    }
  }
}

template <class T>
class ExactRun {
 public:
  ExactRun(const MatrixOperand& a, const void* a_data, const MatrixOperand& b, const void* b_data,
           Dtype dtype, void* scratch)
      : a_(a),
        b_(b),
        a_data_(a_data),
        b_data_(b_data),
        dtype_(dtype),
        as_(static_cast<T*>(scratch)),
        bs_(as_ + block_rows * block_terms),
        sums_(bs_ + block_terms * block_columns),
        doubles_(reinterpret_cast<double*>(sums_ + block_rows * block_columns)) {}

  void run(const Tile& tile, char* out) {
    const int64_t m = a_.rows.size, n = b_.rows.size;
    const int64_t size = static_cast<int64_t>(size_of(dtype_));
    out += tile.batch * m * n * size;
    if (n == 1 && along_k(a_)) {
      return run_dots(a_, a_data_, b_, b_data_, tile.row_begin, tile.row_end, out);
    }
    if (m == 1 && along_k(b_)) {
      return run_dots(b_, b_data_, a_, a_data_, tile.column_begin, tile.column_end, out);
    }
    for (int64_t row = tile.row_begin; row < tile.row_end; row += block_rows) {
      const int64_t rows = std::min(block_rows, tile.row_end - row);
      for (int64_t column = tile.column_begin; column < tile.column_end; column += block_columns) {
        const int64_t columns = std::min(block_columns, tile.column_end - column);
        for (int64_t k = 0; k < a_.k.size; k += block_terms) {
          add_block(row, rows, column, columns, k, std::min(block_terms, a_.k.size - k));
        }
        for (int64_t i = 0; i < rows; ++i) {
          store_sums(dtype_, sums_ + i * block_columns, columns,
                     out + ((row + i) * n + column) * size);
        }
      }
    }
  }

 private:
  static bool along_k(const MatrixOperand& x) {
    const bool lies = sizeof(T) == 4 || lies_as(x.dtype, dtype_of<T>);
    return lies && x.rows.uniform() && x.k.uniform() && x.k.stride() == 1;
  }

  void add_block(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t k,
                 int64_t terms) {
    const bool as_integers = sizeof(T) == 4 || rows < fewest_rows_of_doubles;
    const bool whole = columns % 16 == 0;
    Part<T> a, b;
    int64_t a_rows[block_rows], b_columns[block_columns], ks[block_terms];
    if (as_integers && lies_as(a_.dtype, dtype_of<T>) && a_.rows.uniform() && a_.k.uniform()) {
      a = {static_cast<const T*>(a_data_) + a_.rows.offset(row) + a_.k.offset(k), a_.rows.stride(),
           a_.k.stride()};
    } else {
      a_.rows.offsets(row, rows, a_rows);
      a_.k.offsets(k, terms, ks);
      a = load(a_.dtype, a_data_, a_rows, rows, ks, terms, as_);
    }
    if (as_integers && whole && lies_as(b_.dtype, dtype_of<T>) && b_.rows.uniform() &&
        b_.rows.stride() == 1 && b_.k.uniform()) {
      b = {static_cast<const T*>(b_data_) + column + b_.k.offset(k), b_.k.stride(), 1};
    } else {
      b_.rows.offsets(column, columns, b_columns);
      b_.k.offsets(k, terms, ks);
      b = load(b_.dtype, b_data_, ks, terms, b_columns, columns, bs_);
    }
    if constexpr (sizeof(T) == 8) {
      const int64_t a_count = rows * a.row, b_count = terms * b.row;
      if (!as_integers && are_small(a.data, a_count) && are_small(b.data, b_count)) {
        if (k == 0) std::fill_n(sums_, rows * block_columns, 0);
        double *const x = doubles_, *const y = x + block_rows * block_terms;
        double* const z = y + block_terms * block_columns;
        to_doubles(a.data, a_count, x);
        to_doubles(b.data, b_count, y);
        multiply<double>({x, a.row, 1}, {y, b.row, 1}, rows, terms, columns, true, z);
        add_doubles(z, rows * block_columns, sums_);
        return;
      }
    }
    multiply(a, b, rows, terms, columns, k == 0, sums_);
  }

  // Rows [begin, end) of `many` times the only one of `few`.
  void run_dots(const MatrixOperand& many, const void* many_data, const MatrixOperand& few,
                const void* few_data, int64_t begin, int64_t end, char* out) {
    const int64_t k_size = many.k.size, nowhere = 0;
    T *const x = as_, *const y = x + dot_terms, *const sums = y + dot_terms;
    int64_t ks[dot_terms];
    const bool in_place = lies_as(many.dtype, dtype_of<T>);
    const int64_t stride = many.rows.stride();
    for (int64_t first = begin; first < end; first += dot_rows) {
      const int64_t rows = std::min(dot_rows, end - first);
      std::fill_n(sums, rows, 0);
      for (int64_t k = 0; k < k_size; k += dot_terms) {
        const int64_t terms = std::min(dot_terms, k_size - k);
        few.k.offsets(k, terms, ks);
        load(few.dtype, few_data, &nowhere, 1, ks, terms, y);
        if (in_place) {
          add_dots(static_cast<const T*>(many_data) + first * stride + k, stride, rows, y, terms,
                   sums);
          continue;
        }
        const Kernel widen = load_kernel(many.dtype);
        const auto size = static_cast<int64_t>(size_of(many.dtype));
        for (int64_t i = 0; i < rows; ++i) {
          const void* from =
              static_cast<const char*>(many_data) + ((first + i) * stride + k) * size;
          widen(x, &from, terms);
          add_dots(x, 0, 1, y, terms, sums + i);
        }
      }
      store_sums(dtype_, sums, rows, out + first * static_cast<int64_t>(size_of(dtype_)));
    }
  }

  const MatrixOperand &a_, &b_;
  const void *const a_data_, *const b_data_;
  const Dtype dtype_;
  T *const as_, *const bs_, *const sums_;
  double* const doubles_;  // blocks of small numbers, and their sums
};

}  // namespace

size_t exact_scratch() {
  return 2 * (block_rows * block_terms + block_terms * block_columns + block_rows * block_columns) *
         sizeof(uint64_t);
}

void run_exact(const MatrixOperand& a, const void* a_data, const MatrixOperand& b,
               const void* b_data, Dtype dtype, Dtype sum, const Tile& tile, void* out,
               void* scratch) {
  char* const to = static_cast<char*>(out);
  if (sum == Dtype::int32) {
    ExactRun<uint32_t>(a, a_data, b, b_data, dtype, scratch).run(tile, to);
  } else {
    ExactRun<uint64_t>(a, a_data, b, b_data, dtype, scratch).run(tile, to);
  }
}

}  // namespace mt::cpu
