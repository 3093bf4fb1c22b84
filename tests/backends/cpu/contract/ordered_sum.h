// SPDX-License-Identifier: Apache-2.0
// Sums in the order of ops/order.h, as loops that are read rather than run fast.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/order.h"

namespace mt::cpu {

template <class T>
T pairwise(const std::vector<T>& panels, size_t first, size_t count) {
  if (count == 1) return panels[first];
  size_t half = 1;
  while (2 * half < count) half *= 2;
  return pairwise(panels, first, half) + pairwise(panels, first + half, count - half);
}

// One output as ops/order.h says. a and b: the operands' chains, in order.
template <class T>
T ordered_sum(const std::vector<T>& a, const std::vector<T>& b, ContractionOrder order) {
  std::vector<T> panels;
  int64_t k = static_cast<int64_t>(a.size());
  for (int64_t begin = 0; begin < k; begin += order.panel) {
    std::vector<T> lanes(static_cast<size_t>(order.lanes), T(0));
    for (int64_t i = begin; i < std::min(begin + order.panel, k); ++i) {
      T& lane = lanes[static_cast<size_t>((i - begin) % order.lanes)];
      lane = std::fma(a[i], b[i], lane);
    }
    for (size_t width = lanes.size() / 2; width > 0; width /= 2) {
      for (size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
    }
    panels.push_back(lanes[0]);
  }
  return panels.empty() ? T(0) : pairwise(panels, 0, panels.size());
}

}  // namespace mt::cpu
