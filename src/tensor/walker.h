// SPDX-License-Identifier: Apache-2.0
// Going through a layout's elements in row-major order.
#pragma once

#include <algorithm>

#include "tensor/layout.h"

namespace mt {

// The position of an element, and its index along each dimension if that is wanted. The layout's
// offset is left out; an empty layout has position 0.
inline int64_t locate(const Layout& layout, int64_t element, int64_t* index = nullptr) {
  int64_t position = 0;
  for (int d = layout.shape.rank() - 1; d >= 0; --d) {
    const int64_t size = std::max<int64_t>(layout.shape[d], 1), at = element % size;
    element /= size;
    position += at * layout.strides[d];
    if (index) index[d] = at;
  }
  return position;
}

// Advances `index` by one along dimension `last`, carrying into those before it down to `first`;
// returns the change of position.
inline int64_t step_on(const Layout& layout, int first, int last, int64_t* index) {
  int64_t change = 0;
  for (int d = last; d >= first; --d) {
    change += layout.strides[d];
    if (++index[d] < layout.shape[d]) break;
    change -= layout.shape[d] * layout.strides[d];
    index[d] = 0;
  }
  return change;
}

// Visits the elements from `element` on, one by one. The layout must outlive the walker.
class Walker {
 public:
  Walker(const Layout& layout, int64_t element)
      : layout_(layout), position_(layout.offset + locate(layout, element, index_)) {}
  Walker(Layout&& layout, int64_t element) = delete;
  int64_t position() const { return position_; }
  int64_t index(int d) const { return index_[d]; }
  void next() { position_ += step_on(layout_, 0, layout_.shape.rank() - 1, index_); }

 private:
  const Layout& layout_;
  int64_t index_[max_rank];
  int64_t position_;
};

}  // namespace mt
