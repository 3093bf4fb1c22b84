// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/cuda/grid.h"
#include "backends/cuda/views.h"

namespace mt::cuda {

// Where the element of that row-major index lies.
__device__ inline int64_t position(const LayoutView& layout, int64_t element) {
  int64_t position = 0;
  for (int d = layout.rank - 1; d > 0; --d) {
    position += element % layout.shape[d] * layout.strides[d];
    element /= layout.shape[d];
  }
  return layout.rank > 0 ? position + element * layout.strides[0] : 0;
}

// The sizes of dimensions [begin, end) together.
__device__ inline int64_t extent(const LayoutView& layout, int begin, int end) {
  int64_t result = 1;
  for (int d = begin; d < end; ++d) result *= layout.shape[d];
  return result;
}
__device__ inline int64_t extent(const LayoutView& layout) {
  return extent(layout, 0, layout.rank);
}

}  // namespace mt::cuda
