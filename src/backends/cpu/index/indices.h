// SPDX-License-Identifier: Apache-2.0
// The index tensors of one call, which together select rows.
#pragma once

#include "backends/cpu/index/kernels.h"
#include "ops/checked_indices.h"

namespace mt::cpu {

struct Indices {
  int count;
  const int64_t* data[max_rank];
  int64_t stride[max_rank], size[max_rank];

  Indices(const NaiveArray* arrays, size_t arrays_count, const int64_t* sizes)
      : count(static_cast<int>(arrays_count)) {
    for (int k = 0; k < count; ++k) {
      data[k] = reinterpret_cast<const int64_t*>(first_element(arrays[k]));
      stride[k] = arrays[k].layout.strides[0];
      size[k] = sizes[k];
    }
  }
  int64_t at(int k, int64_t j) const { return wrapped_index(data[k][j * stride[k]], size[k]); }
  int64_t row(int64_t j) const {
    int64_t row = at(0, j);
    for (int k = 1; k < count; ++k) row = row * size[k] + at(k, j);
    return row;
  }
};

}  // namespace mt::cpu
