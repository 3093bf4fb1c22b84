// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <algorithm>

#include "base/error.h"

namespace mt {

void Dims::push_back(int64_t value) {
  if (rank_ == max_rank) fail(Code::shape, "more than %d dimensions", max_rank);
  values_[rank_++] = value;
}

void Dims::insert(int position, int64_t value) {
  push_back(value);
  for (int i = rank_ - 1; i > position; --i) values_[i] = values_[i - 1];
  values_[position] = value;
}

void Dims::erase(int position) {
  for (int i = position; i + 1 < rank_; ++i) values_[i] = values_[i + 1];
  --rank_;
}

bool Dims::contains(int64_t value) const { return std::find(begin(), end(), value) != end(); }

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (int i = 0; i < dims.rank(); ++i) {
    if (i) text += ',';
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

void check_shape(const Shape& shape, size_t element_size, const char* operation) {
  int64_t count = static_cast<int64_t>(element_size);
  for (int64_t size : shape) {
    if (size < 0) {
      fail(Code::shape, "%s: negative size in shape %s", operation, to_string(shape).c_str());
    }
  }
  for (int64_t size : shape) {
    if (size != 0 && __builtin_mul_overflow(count, size, &count)) {
      fail(Code::shape, "%s: shape %s is too large to address", operation,
           to_string(shape).c_str());
    }
  }
}

Shape broadcast(const Shape& a, const Shape& b, const char* operation) {
  if (a == b) return a;
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  int shift = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    int64_t x = longer[i + shift], y = shorter[i];
    if (x == y || y == 1) continue;
    if (x != 1) {
      fail(Code::shape, "%s: shapes %s and %s do not broadcast", operation, to_string(a).c_str(),
           to_string(b).c_str());
    }
    result[i + shift] = y;
  }
  return result;
}

int normalize_axis(int64_t axis, int rank, const char* operation) {
  if (axis < -rank || axis >= rank) {
    fail(Code::index, "%s: axis %lld is out of range for %d dimensions", operation,
         static_cast<long long>(axis), rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Dims normalize_axes(const Dims& axes, int rank, const char* operation) {
  Dims result;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (int64_t axis : axes) {
    int normal = normalize_axis(axis, rank, operation);
    if (result.contains(normal)) {
      fail(Code::invalid, "%s: axis %lld appears twice", operation, static_cast<long long>(axis));
    }
    result.push_back(normal);
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace mt
