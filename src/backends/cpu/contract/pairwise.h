// SPDX-License-Identifier: Apache-2.0
// The sums of panels, combined as ops/order.h says.
#pragma once

#include <cstdint>

namespace mt::cpu {

// Adds panels that lie `step` apart, of `count` elements each, into the first of them.
template <class T>
void add_pairwise(T* first, int64_t step, int64_t panels, int64_t count) {
  if (panels == 1) return;
  int64_t half = 1;
  while (2 * half < panels) half *= 2;
  T* const right = first + half * step;
  add_pairwise(first, step, half, count);
  add_pairwise(right, step, panels - half, count);
  for (int64_t i = 0; i < count; ++i) first[i] += right[i];
}

}  // namespace mt::cpu
