// SPDX-License-Identifier: Apache-2.0
// An operand of a contraction as a matrix [rows, k] whose element (i, j) lies at rows.offset(i) +
// k.offset(j). Each axis stands for a group of dimensions with arbitrary strides, so a transposed,
// broadcast, reversed or sliding-window operand is read where it lies.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/contraction.h"
#include "tensor/shape.h"

namespace mt::cpu {

// The dimensions of one group as one operand sees them, outermost first. Adjacent dimensions
// without a gap between them are merged, so most axes have a single dimension.
struct Axis {
  int64_t size = 1;  // the product of all sizes
  int rank = 0;
  int64_t sizes[max_rank];
  int64_t strides[max_rank];

  void append(int64_t dimension_size, int64_t stride);

  bool uniform() const { return rank <= 1; }
  int64_t stride() const { return rank == 0 ? 0 : strides[rank - 1]; }  // of the innermost
  int64_t offset(int64_t index) const {
    if (rank <= 1) return index * stride();
    int64_t result = 0;
    for (int d = rank - 1; d >= 0; --d) {
      result += index % sizes[d] * strides[d];
      index /= sizes[d];
    }
    return result;
  }
  // One more than the distance from the lowest offset to the highest.
  int64_t span() const;
  // Whether the offsets only go up, by one within the innermost dimension.
  bool ascends() const;
  // Calls run(position, offset, length) for each stretch of [first, first + count) along the
  // innermost dimension; positions count from `first`. The rank must be at least one.
  template <class F>
  void for_runs(int64_t first, int64_t count, F&& run) const;
  // out[i] = offset(first + i) for i in [0, count).
  void offsets(int64_t first, int64_t count, int64_t* out) const;
};

template <class F>
void Axis::for_runs(int64_t first, int64_t count, F&& run) const {
  const int last = rank - 1;
  int64_t index[max_rank], from = 0;
  for (int d = last; d >= 0; --d) {
    index[d] = first % sizes[d];
    first /= sizes[d];
    from += index[d] * strides[d];
  }
  for (int64_t position = 0; position < count;) {
    const int64_t length = std::min(sizes[last] - index[last], count - position);
    run(position, from, length);
    position += length;
    from -= index[last] * strides[last];
    index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      from += strides[d];
      if (++index[d] < sizes[d]) break;
      from -= sizes[d] * strides[d];
      index[d] = 0;
    }
  }
}

// Windows that read each element this often on average are better broadcast in place than gathered;
// vectors want a higher average. It is as low as this because edges are much of a small image.
constexpr double gathered_often = 1.5;

struct MatrixOperand {
  Dtype dtype;
  Axis batch, rows, k;

  const void* at(const void* data, int64_t offset) const {
    return static_cast<const char*>(data) + offset * int64_t(size_of(dtype));
  }
  // Where a batch entry begins.
  const void* entry(const void* data, int64_t index) const { return at(data, batch.offset(index)); }

  // Whether each element is read at least `often` times on average, as sliding windows do.
  bool slides(double often = 2) const;
};

MatrixOperand operand_a(const Contraction& contraction);
MatrixOperand operand_b(const Contraction& contraction);

// Whether vectors along the rows of x, which `many` rows of the other operand share, read sliding
// windows in place: the windows' positions follow each other but for a gap at the end of each line,
// the kernel's edge, and computing the gaps as well costs less than packing.
bool reads_columns_in_place(const MatrixOperand& x, int64_t many);

// Limits for short windows: rows of a, and lines of a window of b, of all channels together.
struct ShortWindows {
  int64_t rows = 0, lines = 0;
};
constexpr int64_t most_window_width = 8;
// Whether a has a few rows and the columns of b are the elements of short sliding windows, both
// float32 and contiguous along k, and neither exceeds `most`; windows-inl.h has the kernels.
bool has_short_windows(const MatrixOperand& a, const MatrixOperand& b, ShortWindows most);

}  // namespace mt::cpu
