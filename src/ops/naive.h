// SPDX-License-Identifier: Apache-2.0
// Naive values: what an operator computes, as the loop a student would write. The reference backend
// runs these; every fast kernel is judged by them.
#pragma once

#include <span>
#include <vector>

#include "graph/node.h"

namespace mt {

// Strided elements, read and written as double or as int64 whatever their dtype.
struct NaiveArray {
  void* data;  // of the storage or buffer; layout.offset is applied here
  Dtype dtype;
  Layout layout;

  int64_t size() const { return element_count(layout.shape); }
  // The position of a logical, row-major element within `data`.
  int64_t position(int64_t element) const;
  double number(int64_t element) const;
  int64_t integer(int64_t element) const;
  void set_number(int64_t element, double value) const;    // rounds; saturates to integers
  void set_integer(int64_t element, int64_t value) const;  // wraps
};

// Copies one element as it is, to an array of the same type.
void move_element(const NaiveArray& to, int64_t i, const NaiveArray& from, int64_t j);
// Whether element i of x comes before element j of y, of the same type, where both are sorted. A
// NaN comes after everything.
bool comes_before(const NaiveArray& x, int64_t i, const NaiveArray& y, int64_t j);
// f(line, first, step) for the lines along an axis, in order: a line's elements are `first`,
// first + step ...
template <class F>
void each_line(const Shape& shape, int axis, F&& f) {
  int64_t step = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) step *= shape[d];
  const int64_t length = shape[axis], lines = length ? element_count(shape) / length : 0;
  for (int64_t line = 0; line < lines; ++line) {
    f(line, line / step * length * step + line % step, step);
  }
}
// One number, as a constant has it, everywhere.
void fill(const NaiveArray& y, const Immediates& number);
// to[target(i)] += from[i] for all elements, from 0 on: in float64, rounded once, or wrapping.
template <class F>
void add_up(const NaiveArray& from, const NaiveArray& to, F&& target) {
  std::vector<double> sums(static_cast<size_t>(to.size()), 0.0);
  for (int64_t i = 0; i < to.size(); ++i) to.set_integer(i, 0);
  for (int64_t i = 0; i < from.size(); ++i) {
    const int64_t at = target(i);
    if (is_floating(to.dtype)) {
      sums[at] += from.number(i);
    } else {
      to.set_integer(at, static_cast<int64_t>(static_cast<uint64_t>(to.integer(at)) +
                                              static_cast<uint64_t>(from.integer(i))));
    }
  }
  if (!is_floating(to.dtype)) return;
  for (int64_t i = 0; i < to.size(); ++i) to.set_number(i, sums[i]);
}

struct NaiveCall {
  const Op& op;
  const Attributes& attributes;
  Immediates immediates;
  std::span<const NaiveArray> inputs;
  NaiveArray output;
};

// Computes any operator but a leaf or a view.
void naive_value(const NaiveCall& call);

}  // namespace mt
