// SPDX-License-Identifier: Apache-2.0
// How a tensor's elements lie in its storage: shape, strides and offset, counted in elements.
// Every view is arithmetic on a Layout; nothing here touches memory.
#pragma once

#include <optional>

#include "tensor/shape.h"

namespace mt {

struct Layout {
  Shape shape;
  Strides strides;
  int64_t offset = 0;
};

Strides contiguous_strides(const Shape& shape);
Layout contiguous_layout(const Shape& shape);
// Elements follow each other in row-major order without gaps (the offset may be anything).
inline bool is_contiguous(const Shape& shape, const Strides& strides) {
  int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}
inline bool is_contiguous(const Layout& layout) {
  return is_contiguous(layout.shape, layout.strides);
}

// Views. Arguments have been checked by the operators that call these.
Layout permute(const Layout& layout, const Dims& order);
Layout expand(const Layout& layout, const Shape& shape);  // NumPy broadcasting, stride 0
Layout slice(const Layout& layout, int axis, int64_t start, int64_t length, int64_t step);
// A sliding window over `axis`: that axis becomes positions, and a last axis of `size` is added.
Layout window(const Layout& layout, int axis, int64_t size, int64_t step, int64_t dilation);
// The same elements under another shape, when strides can express it without a copy.
std::optional<Layout> reshape(const Layout& layout, const Shape& shape);

// The same elements in the same order with as few dimensions as possible.
Layout collapse(const Layout& layout);

// First and one-past-last element touched, relative to the storage's start.
struct Extent {
  int64_t begin, end;
};
Extent extent(const Layout& layout);

}  // namespace mt
