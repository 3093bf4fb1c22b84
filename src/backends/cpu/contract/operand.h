// SPDX-License-Identifier: Apache-2.0
// An operand of a contraction as a matrix [rows, k] whose element lies at rows.offset(i) +
// k.offset(j). Each axis stands for a group of dimensions with arbitrary strides, so a transposed,
// broadcast, reversed or sliding-window operand is read where it lies.
#pragma once

#include <cstdint>

#include "plan/contraction.h"
#include "tensor/shape.h"

namespace mt::cpu {

// The dimensions of one group that a walk of one operand sees, outermost first; neighbours that
// follow each other without a gap are merged, so that most axes have one dimension.
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
  // out[i] = offset(first + i) for i in [0, count).
  void offsets(int64_t first, int64_t count, int64_t* out) const;
};

struct Operand {
  Dtype dtype;
  const void* data;
  Axis batch, rows, k;
};

Operand operand_a(const Contraction& contraction, const void* data);
Operand operand_b(const Contraction& contraction, const void* data);

int64_t size_of_group(const std::vector<ContractionDim>& dims);

}  // namespace mt::cpu
