// SPDX-License-Identifier: Apache-2.0
// Sizes of up to 16 dimensions, and the arithmetic on them.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>

namespace mt {

constexpr int max_rank = 16;

// A short list of int64 with inline storage: shapes, strides, axes, offsets.
class Dims {
 public:
  Dims() : rank_(0) {}
  Dims(std::initializer_list<int64_t> values) : rank_(0) {
    for (int64_t value : values) push_back(value);
  }
  Dims(const int64_t* values, int rank) : rank_(rank) { copy(values); }
  Dims(const Dims& other) noexcept : rank_(other.rank_) { copy(other.values_); }
  Dims& operator=(const Dims& other) noexcept {
    rank_ = other.rank_;
    copy(other.values_);
    return *this;
  }
  // `rank` is at most max_rank.
  static Dims filled(int rank, int64_t value) {
    Dims dims;
    dims.rank_ = rank;
    for (int i = 0; i < rank; ++i) dims.values_[i] = value;
    return dims;
  }

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int64_t operator[](int i) const { return values_[i]; }
  int64_t& operator[](int i) { return values_[i]; }
  int64_t back() const { return values_[rank_ - 1]; }
  const int64_t* data() const { return values_; }
  int64_t* data() { return values_; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + rank_; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + rank_; }
  void push_back(int64_t value);
  void insert(int position, int64_t value);
  void erase(int position);
  bool contains(int64_t value) const;

  bool operator==(const Dims& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i) {
      if (values_[i] != other.values_[i]) return false;
    }
    return true;
  }

 private:
  // Most have few dimensions, for which calling memmove costs more than the copy.
  void copy(const int64_t* values) noexcept {
    if (rank_ > 3) {
      std::memmove(values_, values, sizeof(int64_t) * static_cast<size_t>(rank_));
      return;
    }
    if (rank_ > 0) values_[0] = values[0];
    if (rank_ > 1) values_[1] = values[1];
    if (rank_ > 2) values_[2] = values[2];
  }

  int64_t values_[max_rank];
  int rank_;
};

using Shape = Dims;
using Strides = Dims;

inline int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}
std::string to_string(const Dims& dims);  // "[64,3]"

// Checks a shape given by a user: no negative size, and a byte size that fits in int64. For this,
// sizes of 0 count as 1, since strides are computed even where nothing is stored.
void check_shape(const Shape& shape, size_t element_size, const char* operation);

// The common shape by NumPy's broadcasting rule; fails naming both shapes.
Shape broadcast(const Shape& a, const Shape& b, const char* operation);

// An axis in [-rank, rank) as one in [0, rank).
int normalize_axis(int64_t axis, int rank, const char* operation);
// Axes counted from the front and sorted; an empty list means all, and a repeated one fails.
Dims normalize_axes(const Dims& axes, int rank, const char* operation);

}  // namespace mt
