// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/cuda/device/grid.h"
#include "backends/cuda/device/views.h"

namespace mt::cuda {

// Where the element of that row-major index, one that 31 bits can count, lies.
__device__ inline int64_t near_position(const LayoutView& layout, int64_t element) {
  constexpr int64_t most = 0xffffffff;
  int64_t position = 0;
  auto left = static_cast<uint32_t>(element);
  for (int d = layout.rank - 1; d > 0; --d) {
    auto size = static_cast<uint32_t>(layout.shape[d] < most ? layout.shape[d] : most);
    position += left % size * layout.strides[d];
    left /= size;
  }
  return layout.rank > 0 ? position + left * layout.strides[0] : 0;
}

// Where any lies: divisions of 64 bits are calls.
__device__ inline int64_t position(const LayoutView& layout, int64_t element) {
  if (element >> 31 == 0) return near_position(layout, element);
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
