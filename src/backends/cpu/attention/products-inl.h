// SPDX-License-Identifier: Apache-2.0
// Attention's products of matrices that stay in cache and are read in place if possible, and which
// parts of them are computed where a query sees only the keys before it. Included once for each
// instruction set.
#if defined(MT_ATTENTION_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_ATTENTION_PRODUCTS_INL_H
#undef MT_ATTENTION_PRODUCTS_INL_H
#else
#define MT_ATTENTION_PRODUCTS_INL_H
#endif

#include <algorithm>

#include "backends/cpu/attention/block.h"
#include "backends/cpu/attention/rows_ahead.h"
#include "backends/cpu/contract/find_kernel-inl.h"
#include "backends/cpu/contract/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// out[j][i] = from[i * row + j * column], for i in [0, rows), at most 64, and j in [0, columns). A
// row of `out` has `width` elements, and is written in whole vectors.
template <class T>
void pack_transposed(const T* from, int64_t row, int64_t column, int64_t rows, int64_t columns,
                     int64_t width, T* out) {
  int64_t row_offsets[most_width], column_offsets[most_width];
  for (int64_t i = 0; i < rows; ++i) row_offsets[i] = i * row;
  for (int64_t begin = 0; begin < columns; begin += most_width) {
    const int64_t count = std::min(most_width, columns - begin);
    for (int64_t j = 0; j < count; ++j) column_offsets[j] = (begin + j) * column;
    pack(dtype_of<T>, from, row_offsets, rows, width, column_offsets, count, out + begin * width);
  }
}

// A left operand, which is read by broadcast.
template <class T>
struct Left {
  const T* data;
  int64_t row, k;  // strides
};

// A right operand, which is read by vectors: contiguous rows, or panels of up to 64 columns.
template <class T>
struct Right {
  const T* data;
  int64_t columns;
  int64_t k;         // from one row to the next
  int64_t packed;    // rows of a panel, or 0
  int64_t begin{0};  // the first row

  static constexpr int64_t lanes = lanes_of<T>;
  // A panel's columns, rounded up to whole vectors.
  static int64_t panel_width(int64_t left) {
    return (std::min(left, most_width) + lanes - 1) / lanes * lanes;
  }
  // Without the rows before `row`.
  Right from(int64_t row) const { return {data, columns, k, packed, row}; }
  void at(int64_t column, MicroTile<T>& tile) const {
    const int64_t inside = column % most_width, panel = column - inside;
    tile.b_k = packed ? panel_width(columns - panel) : k;
    tile.b = data + (packed ? panel * packed + inside : column) + begin * tile.b_k;
  }
};

// Some rows of an operand, from `first` on. Packed into `scratch`, of panels_scratch(), if vectors
// cannot read them, or if they are read `often` and lie apart: with the strides of heads that are
// side by side, their lines map to few sets of the first-level cache.
template <class T>
Right<T> right_operand(const Matrices& of, const T* first, int64_t rows, int64_t columns,
                       T* scratch, bool often) {
  const bool by_vectors = of.column == 1 && (loads_part_at_once || columns % lanes_of<T> == 0);
  if (by_vectors && !(often && of.row != columns)) return {first, columns, of.row, 0};
  for (int64_t begin = 0; begin < columns; begin += most_width) {
    pack_transposed(first + begin * of.column, of.column, of.row,
                    std::min(most_width, columns - begin), rows,
                    Right<T>::panel_width(columns - begin), scratch + begin * rows);
  }
  return {scratch, columns, 0, rows};
}

// c[rows, columns] = a[rows, k] b[k, columns], added to what c holds unless it is `fresh`.
template <class T>
void multiply(Left<T> a, const Right<T>& b, int64_t k, T* c, int64_t c_row, int64_t rows,
              bool fresh, RowsAhead& ahead) {
  constexpr int64_t lanes = lanes_of<T>, widest = most_vectors * lanes;
  static_assert(most_width % widest == 0);
  MicroTile<T> tile{};
  tile.k = k;
  tile.a_row = a.row;
  tile.a_k = a.k;
  tile.c_row = tile.from_row = c_row;
  tile.first = fresh;
  for (int64_t column = 0; column < b.columns; column += widest) {
    tile.columns = std::min(widest, b.columns - column);
    b.at(column, tile);
    const int vectors = static_cast<int>((tile.columns + lanes - 1) / lanes);
    const int64_t most = rows_for(vectors), slivers = (rows + most - 1) / most;
    // Some slivers have one row more than the others.
    const int64_t fewest = rows / slivers;
    int64_t longer = rows % slivers;
    for (int64_t row = 0, count; row < rows; row += count) {
      count = fewest + (longer-- > 0 ? 1 : 0);
      const bool more = row + count < rows;
      tile.a = a.data + row * a.row;
      tile.c = c + row * c_row + column;
      tile.from = tile.c;
      tile.fetched = more && !fresh ? tile.c + count * c_row : tile.c;
      near_kernel_for<T>(static_cast<int>(count), vectors)(tile);
      ahead.fetch();
    }
  }
}

// Which of a block's queries see which keys of a panel: query i sees key j if i >= j + ahead. Whole
// steps of queries are computed, the same ones on all machines: a weight of 0 times infinity is
// NaN.
struct Seen {
  int64_t ahead, queries, keys;

  // The beginning of the first step that sees the key.
  int64_t first_query(int64_t key, int64_t step) const {
    return key + ahead < step ? 0 : (key + ahead) / step * step;
  }
  // The end of the keys that the query's step sees.
  int64_t keys_of(int64_t query, int64_t step) const {
    return std::min(keys, query / step * step + step - ahead);
  }
};
// Steps of scores, so that whole vectors are formed, and of the products' terms: a tile's rows.
// Before a step of scores there are zeros, for steps of terms that begin there.
constexpr int64_t score_step = 16, term_step = most_rows;
static_assert(term_step <= score_step);

// x[key][query] = rows[key] queries[query], which are packed, [depth][width]; x is [keys][pitch].
template <class T>
void multiply_by_queries(Left<T> rows, const T* queries, int64_t depth, const Seen& seen,
                         int64_t width, T* x, int64_t pitch, RowsAhead& ahead) {
  for (int64_t key = 0, end; key < seen.keys; key = end) {
    const int64_t first = seen.first_query(key, score_step);
    end = seen.keys_of(first, score_step);
    const Left<T> left{rows.data + key * rows.row, rows.row, rows.k};
    const Right<T> right{queries + first, width - first, width, 0};
    multiply(left, right, depth, x + key * pitch + first, pitch, end - key, true, ahead);
  }
}

// to[query] += sum over the keys that it sees of x[key][query] rows[key]; `to_row` is its stride.
template <class T>
void add_to_queries(const T* x, int64_t pitch, const Right<T>& rows, const Seen& seen, T* to,
                    int64_t to_row, bool fresh, RowsAhead& ahead) {
  for (int64_t query = 0, end; query < seen.queries; query = end) {
    const int64_t keys = seen.keys_of(query, term_step);
    end = keys == seen.keys ? seen.queries : query + term_step;
    multiply({x + query, 1, pitch}, rows, keys, to + query * to_row, to_row, end - query, fresh,
             ahead);
  }
}

// to[key] += sum over the queries that see it of x[key][query] rows[query]; the keys from `fresh`
// on have no sums yet.
template <class T>
void add_to_keys(const T* x, int64_t pitch, const Right<T>& rows, const Seen& seen, T* to,
                 int64_t to_row, int64_t fresh, RowsAhead& ahead) {
  for (int64_t key = 0, end; key < seen.keys; key = end) {
    const int64_t query = seen.first_query(key, term_step);
    end = seen.keys_of(query, term_step);
    if (key < fresh) end = std::min(end, fresh);
    multiply({x + key * pitch + query, pitch, 1}, rows.from(query), seen.queries - query,
             to + key * to_row, to_row, end - key, key >= fresh, ahead);
  }
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
