// SPDX-License-Identifier: Apache-2.0
// These kernels look elements up rather than compare them, so they are the same for every
// instruction set.
#include "backends/cpu/elementwise/one_hot.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/strided/strided.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

// Rows and their operands, which are transposed if `across`.
template <class T, bool across>
struct Rows {
  const Input &sought, &a, &b;
  int64_t count, columns;

  Rows(const Input* inputs, int64_t outer, int64_t inner)
      : sought(inputs[0]),
        a(inputs[1]),
        b(inputs[2]),
        count(across ? inner : outer),
        columns(across ? outer : inner) {}
  // The column of the element from a; negative: none.
  int64_t place(int64_t r) const {
    const auto at = read<int64_t>(sought, r, 0);
    return at < columns ? at : -1;
  }
  T element(int64_t r, int64_t at) const { return read<T>(a, r, at); }
  T number(int64_t r) const { return read<T>(b, r, 0); }
  const T* other(int64_t r, int64_t c) const {
    return reinterpret_cast<const T*>(address(b, r, c, sizeof(T)));
  }

 private:
  static const char* address(const Input& from, int64_t r, int64_t c, size_t size) {
    const char* const row = static_cast<const char*>(from.data) + (across ? c : r) * from.pitch;
    return row + (from.repeated ? 0 : (across ? r : c) * static_cast<int64_t>(size));
  }
  template <class Value>
  static Value read(const Input& from, int64_t r, int64_t c) {
    Value value;
    std::memcpy(&value, address(from, r, c, sizeof(Value)), sizeof(Value));
    return value;
  }
};

// One element of each row comes from a, if it is within the row, the others from b.
template <class T, bool across>
void one_hot_elements(void* out, const Input* inputs, int64_t outer, int64_t inner) {
  constexpr int64_t together = across ? 64 : 1;  // rows
  const Rows<T, across> rows(inputs, outer, inner);
  const RowExpansion expand = row_expansion(sizeof(T));
  const int64_t row_step = across ? 1 : rows.columns, column_step = across ? rows.count : 1;
  T* const y = static_cast<T*>(out);
  int64_t places[together];
  T elements[together] = {};  // read first, as the results may overwrite them
  for (int64_t first = 0; first < rows.count; first += together) {
    const int64_t some = std::min(together, rows.count - first);
    for (int64_t k = 0; k < some; ++k) {
      places[k] = rows.place(first + k);
      if (places[k] >= 0) elements[k] = rows.element(first + k, places[k]);
    }
    T* const begin = y + first * row_step;
    const int64_t runs = across ? rows.columns : 1, length = across ? some : rows.columns;
    for (int64_t run = 0; run < runs; ++run) {
      T* const to = begin + run * column_step;
      const T* const from = rows.other(first, run);
      if (rows.b.repeated) {
        expand(to, from, 1, length);
      } else {
        copy_bytes(to, from, static_cast<size_t>(length) * sizeof(T));
      }
    }
    for (int64_t k = 0; k < some; ++k) {
      if (places[k] >= 0) begin[k * row_step + places[k] * column_step] = elements[k];
    }
  }
}

// The lanes that are halved to a row's sum, in the order of ops/order.h; `alike`: the lanes without
// the element from a.
template <class T>
void fill_lanes(const Rows<T, false>& rows, int64_t r, const T* alike, T* lanes) {
  std::copy_n(alike, row_lanes, lanes);
  const int64_t at = rows.place(r);
  if (at < 0) return;
  const T element = rows.element(r, at), number = rows.number(r);
  const int64_t lane = at % row_lanes;
  T sum{};
  for (int64_t j = lane; j < rows.columns; j += row_lanes) sum += j == at ? element : number;
  lanes[lane] = sum;
}
template <class T>
void fill_alike(const Rows<T, false>& rows, int64_t r, T* lanes) {
  const T number = rows.number(r);
  T sum{};
  for (int64_t j = 0; j < rows.columns / row_lanes; ++j) sum += number;
  for (int64_t k = 0; k < row_lanes; ++k) {
    lanes[k] = k < rows.columns % row_lanes ? sum + number : sum;
  }
}

constexpr int64_t summed_together = 16;  // rows
template <class T>
constexpr Compute type_of = sizeof(T) == 4 ? Compute::f32 : Compute::f64;

template <class T>
void sum_lanes(T* out, const Rows<T, false>& rows) {
  T lanes[summed_together][row_lanes], alike[row_lanes];
  const Operator sum = row_reduction(Reduction::sum, type_of<T>);
  for (int64_t first = 0; first < rows.count; first += summed_together) {
    const int64_t some = std::min(summed_together, rows.count - first);
    for (int64_t k = 0; k < some; ++k) {
      const int64_t r = first + k;
      if (r == 0 || rows.b.pitch != 0) fill_alike(rows, r, alike);
      fill_lanes(rows, r, alike, lanes[k]);
    }
    const Input sums{lanes, sizeof(alike)};
    sum(out + first, &sums, some, row_lanes);
  }
}
template <class T>
void sum_lanes(T* out, const Rows<T, true>& rows) {
  T block[narrow_columns * summed_together];
  const Operator sum = reduction_across(Reduction::sum, type_of<T>);
  for (int64_t first = 0; first < rows.count; first += summed_together) {
    const int64_t some = std::min(summed_together, rows.count - first);
    std::fill_n(block, rows.columns * some, rows.number(0));
    for (int64_t k = 0; k < some; ++k) {
      const int64_t at = rows.place(first + k);
      if (at >= 0) block[at * some + k] = rows.element(first + k, at);
    }
    const Input sums{block, some * static_cast<int64_t>(sizeof(T))};
    sum(out + first, &sums, some, rows.columns);
  }
}

// The sum of each row.
template <class T, bool across>
void one_hot_sums(void* out, const Input* inputs, int64_t first_size, int64_t second_size) {
  // Reductions are given rows, then columns, even if these are transposed.
  const Rows<T, across> rows(inputs, across ? second_size : first_size,
                             across ? first_size : second_size);
  T* const y = static_cast<T*>(out);
  if (rows.b.pitch != 0 || rows.number(0) != T{0}) return sum_lanes(y, rows);
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t at = rows.place(r);
    y[r] = T{0} + (at < 0 ? T{0} : rows.element(r, at));
  }
}

}  // namespace

Operator one_hot_operator(Compute type, bool across) {
  if (size_of(type) == 8) {
    return across ? &one_hot_elements<uint64_t, true> : &one_hot_elements<uint64_t, false>;
  }
  return across ? &one_hot_elements<uint32_t, true> : &one_hot_elements<uint32_t, false>;
}

Operator row_sum_of_one_hot(Compute type, bool across) {
  if (type == Compute::f32) {
    return across ? &one_hot_sums<float, true> : &one_hot_sums<float, false>;
  }
  if (type != Compute::f64) return nullptr;
  return across ? &one_hot_sums<double, true> : &one_hot_sums<double, false>;
}

}  // namespace mt::cpu
