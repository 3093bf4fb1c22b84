// SPDX-License-Identifier: Apache-2.0
// Naive values: what an operator computes, as the loop a student would write. The reference backend
// runs these; every fast kernel is judged by them.
#pragma once

#include <cstddef>
#include <new>
#include <span>

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
  void set_number(int64_t element, double value) const;  // rounds; saturates to integers
  void set_integer(int64_t element, int64_t value) const;  // wraps
};

// Copies one element as it is, without a detour over another type.
void move_element(const NaiveArray& to, int64_t i, const NaiveArray& from, int64_t j);

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
