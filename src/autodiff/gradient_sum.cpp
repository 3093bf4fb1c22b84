// SPDX-License-Identifier: Apache-2.0
#include "autodiff/gradient_sum.h"

#include <algorithm>
#include <cstdlib>

#include "graph/record.h"
#include "ops/ops.h"

namespace mt {
namespace {

// The axes of x by decreasing stride, that is, from the outermost in memory inwards; in their own
// order if any is repeated (stride 0).
Dims order_in_memory(const Tensor& x) {
  const Layout layout = view_layout(x);
  Dims order;
  bool repeated = false;
  for (int d = 0; d < x.rank(); ++d) {
    order.push_back(d);
    repeated |= layout.strides[d] == 0 && layout.shape[d] > 1;
  }
  if (!repeated) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return std::abs(layout.strides[static_cast<int>(a)]) >
             std::abs(layout.strides[static_cast<int>(b)]);
    });
  }
  return order;
}

Dims inverse(const Dims& order) {
  Dims result = order;
  for (int d = 0; d < order.rank(); ++d) result[static_cast<int>(order[d])] = d;
  return result;
}

Tensor in_order(const Tensor& x, const Dims& order) {
  bool same = true;
  for (int d = 0; d < order.rank(); ++d) same &= order[d] == d;
  return same ? x : permute(x, order);
}

// The base of a pending view, if neither of them has a history; else null.
Tensor base_without_history(const Tensor& view) {
  const Tensor base = base_of_view(view);
  return base && !view.requires_gradient() && !base.requires_gradient() ? base : Tensor();
}

// Whether x is laid out as the slice from `start` along `axis` of a contiguous tensor of `shape`.
bool lies_in(const Shape& shape, const Tensor& x, int axis, int64_t start) {
  const Layout whole = contiguous_layout(shape), part = view_layout(x);
  bool same = part.offset == start * whole.strides[axis];
  for (int d = 0; d < shape.rank(); ++d) {
    same &= part.shape[d] == 1 || part.strides[d] == whole.strides[d];
  }
  return same;
}

}  // namespace

void GradientSum::add(Tensor gradient) {
  sum_ = sum_ ? mt::add(sum_, gradient) : std::move(gradient);
}

void GradientSum::add_slice(const Tensor& gradient, int axis, int64_t start, int64_t step) {
  slices_.push_back({gradient, axis, start, step});
}

// Sorts the slices; returns whether all are of one axis and cover each of its elements once.
bool GradientSum::slices_tile(int64_t size) {
  int64_t end = 0;
  const int axis = slices_[0].axis;
  std::stable_sort(slices_.begin(), slices_.end(),
                   [](const Slice& a, const Slice& b) { return a.start < b.start; });
  for (const Slice& slice : slices_) {
    if (slice.axis != axis || slice.step != 1 || slice.start != end) return false;
    end += slice.gradient.shape()[axis];
  }
  return end == size;
}

// Joins the slices, which tile `shape`. If they are views of one value that lie in it in just that
// way, this is that value, without a copy.
Tensor GradientSum::joined(const Shape& shape) const {
  const int axis = slices_[0].axis;
  const Tensor base = base_without_history(slices_[0].gradient);
  bool whole = base && base.size() == element_count(shape);
  std::vector<Tensor> parts;
  for (const Slice& slice : slices_) {
    parts.push_back(slice.gradient);
    whole = whole && base_without_history(slice.gradient).node() == base.node() &&
            lies_in(shape, slice.gradient, axis, slice.start);
  }
  return whole ? reshape(base, shape) : concat(parts, axis);
}

const Tensor& GradientSum::total(const Tensor& x) {
  if (slices_.empty()) return sum_;
  // The gradient gets x's order in memory, so that undoing the views that led to x needs no copy.
  const Dims order = order_in_memory(x), back = inverse(order);
  Shape shape;
  for (int64_t d : order) shape.push_back(x.shape()[static_cast<int>(d)]);
  for (Slice& slice : slices_) {
    slice.gradient = in_order(slice.gradient, order);
    slice.axis = static_cast<int>(back[slice.axis]);
  }
  if (slices_tile(shape[slices_[0].axis])) {
    add(in_order(joined(shape), back));
  } else {
    for (const Slice& slice : slices_) {
      add(in_order(place_along(slice.gradient, shape, slice.axis, slice.start, slice.step), back));
    }
  }
  slices_.clear();
  return sum_;
}

}  // namespace mt
