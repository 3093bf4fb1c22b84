// SPDX-License-Identifier: Apache-2.0
#include "tensor/layout.h"

namespace mt {

Strides contiguous_strides(const Shape& shape) {
  Strides strides = Dims::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * (shape[i + 1] ? shape[i + 1] : 1);
  }
  return strides;
}

Layout contiguous_layout(const Shape& shape) { return {shape, contiguous_strides(shape), 0}; }

Layout permute(const Layout& layout, const Dims& order) {
  Layout result = layout;
  for (int i = 0; i < order.rank(); ++i) {
    result.shape[i] = layout.shape[static_cast<int>(order[i])];
    result.strides[i] = layout.strides[static_cast<int>(order[i])];
  }
  return result;
}

Layout expand(const Layout& layout, const Shape& shape) {
  Layout result{shape, Dims::filled(shape.rank(), 0), layout.offset};
  int shift = shape.rank() - layout.shape.rank();
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] == shape[i + shift]) result.strides[i + shift] = layout.strides[i];
  }
  return result;
}

Layout slice(const Layout& layout, int axis, int64_t start, int64_t length, int64_t step) {
  Layout result = layout;
  if (length > 0) result.offset += start * layout.strides[axis];
  result.shape[axis] = length;
  if (length > 1) result.strides[axis] *= step;  // else it may be any number
  return result;
}

Layout window(const Layout& layout, int axis, int64_t size, int64_t step, int64_t dilation) {
  Layout result = layout;
  result.shape[axis] = (layout.shape[axis] - dilation * (size - 1) - 1) / step + 1;
  if (result.shape[axis] > 1) result.strides[axis] *= step;
  result.shape.push_back(size);
  result.strides.push_back(layout.strides[axis] * (size > 1 ? dilation : 1));
  return result;
}

std::optional<Layout> reshape(const Layout& layout, const Shape& shape) {
  if (element_count(shape) == 0 || is_contiguous(layout)) {
    return Layout{shape, contiguous_strides(shape), layout.offset};
  }
  // Match runs of old dimensions that could be merged into one with runs of new ones of equal size.
  Layout result{shape, Dims::filled(shape.rank(), 0), layout.offset};
  Dims sizes, strides;  // the old layout without its unit dimensions
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] == 1) continue;
    sizes.push_back(layout.shape[i]);
    strides.push_back(layout.strides[i]);
  }
  int old_begin = 0, new_begin = 0;
  while (old_begin < sizes.rank() && new_begin < shape.rank()) {
    int old_end = old_begin + 1, new_end = new_begin + 1;
    int64_t old_count = sizes[old_begin], new_count = shape[new_begin];
    while (old_count != new_count) {
      if (old_count < new_count) {
        if (old_end == sizes.rank()) return std::nullopt;
        old_count *= sizes[old_end++];
      } else {
        if (new_end == shape.rank()) return std::nullopt;
        new_count *= shape[new_end++];
      }
    }
    for (int i = old_begin; i + 1 < old_end; ++i) {
      if (strides[i] != strides[i + 1] * sizes[i + 1]) return std::nullopt;
    }
    int64_t stride = strides[old_end - 1];
    for (int i = new_end - 1; i >= new_begin; --i) {
      result.strides[i] = stride;
      stride *= shape[i];
    }
    old_begin = old_end;
    new_begin = new_end;
  }
  for (int i = new_begin; i < shape.rank(); ++i) {
    if (shape[i] != 1) return std::nullopt;
    result.strides[i] = 1;
  }
  return result;
}

Layout collapse(const Layout& layout) {
  Layout result{{}, {}, layout.offset};
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] == 1) continue;
    int last = result.shape.rank() - 1;
    if (last >= 0 && result.strides[last] == layout.strides[i] * layout.shape[i]) {
      result.shape[last] *= layout.shape[i];
      result.strides[last] = layout.strides[i];
    } else {
      result.shape.push_back(layout.shape[i]);
      result.strides.push_back(layout.strides[i]);
    }
  }
  return result;
}

Extent extent(const Layout& layout) {
  int64_t low = layout.offset, high = layout.offset;
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] == 0) return {layout.offset, layout.offset};
    int64_t reach = (layout.shape[i] - 1) * layout.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  return {low, high + 1};
}

}  // namespace mt
