// SPDX-License-Identifier: Apache-2.0
// Goes through elements line by line along the last dimension of a layout.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hwy/base.h"
#include "tensor/walker.h"

namespace mt::cpu {

// `planes` planes, each repeated `times` times, of `count` lines of `length` elements.
struct Lines {
  int64_t length, step, count = 1, stride = 0, times = 1, planes = 1, plane_stride = 0;
};

// Calls run(position, lines) for stretches of elements along the last dimensions: whole lines, or a
// part of one.
template <class F>
HWY_INLINE void for_lines(const Layout& layout, int64_t first, int64_t count, F&& run) {
  const int rank = layout.shape.rank(), last = rank - 1;
  if (count == 0) return;
  if (rank == 0) {
    run(int64_t{0}, Lines{count, 0});
    return;
  }
  int64_t index[max_rank];
  int64_t position = locate(layout, first, index);
  const int64_t whole = layout.shape[last], step = layout.strides[last];
  const bool repeats = rank > 2 && layout.strides[last - 2] == 0;
  const int outer = last - (repeats ? 3 : 2);
  while (count > 0) {
    Lines lines{std::min(whole - index[last], count), step};
    bool all_planes = false;
    if (rank > 1 && lines.length == whole) {
      const int64_t height = layout.shape[last - 1];
      lines.stride = layout.strides[last - 1];
      lines.count = std::min(height - index[last - 1], count / whole);
      int64_t plane = height * whole;
      if (repeats && lines.count == height) {
        lines.times = std::min(layout.shape[last - 2] - index[last - 2], count / plane);
        index[last - 2] += lines.times - 1;
        plane *= layout.shape[last - 2];
      }
      const bool complete = lines.count * lines.times * whole == plane;
      if (complete && outer >= 0) {
        lines.planes = std::min(layout.shape[outer] - index[outer], count / plane);
        lines.plane_stride = layout.strides[outer];
        index[outer] += lines.planes - 1;
        all_planes = outer > 0 && lines.planes == layout.shape[outer];
      }
    }
    // Repeats the same planes along one more dimension.
    const int64_t some = lines.planes * lines.times * lines.count * lines.length;
    while (true) {
      run(position, lines);
      count -= some;
      if (count == 0) return;
      if (!all_planes || count < some || index[outer - 1] + 1 == layout.shape[outer - 1]) break;
      ++index[outer - 1];
      position += layout.strides[outer - 1];
    }
    position += (lines.planes - 1) * lines.plane_stride + (lines.count - 1) * lines.stride -
                index[last] * step;
    if (rank > 1) index[last - 1] += lines.count - 1;
    index[last] = 0;
    position += step_on(layout, 0, last - 1, index);
  }
}

}  // namespace mt::cpu
