// SPDX-License-Identifier: Apache-2.0
/// @file view.hpp
/// Shapes, indexing, putting tensors together. See mtorch.hpp.
#ifndef MTORCH_VIEW_HPP_
#define MTORCH_VIEW_HPP_

#include <initializer_list>
#include <span>
#include <vector>

#include "tensor.hpp"
#include "view.h"

namespace mtorch {

inline Tensor reshape(const Tensor& x, Dims shape) {
  return Tensor::own(mt_reshape(x.get(), shape.data(), shape.size()));
}
inline Tensor permute_dims(const Tensor& x, Dims axes) {
  return Tensor::own(mt_permute_dims(x.get(), axes.data(), axes.size()));
}
inline Tensor transpose(const Tensor& x, int64_t axis0, int64_t axis1) {
  return Tensor::own(mt_transpose(x.get(), axis0, axis1));
}
inline Tensor matrix_transpose(const Tensor& x) {
  return Tensor::own(mt_matrix_transpose(x.get()));
}
inline Tensor broadcast_to(const Tensor& x, Dims shape) {
  return Tensor::own(mt_broadcast_to(x.get(), shape.data(), shape.size()));
}
inline Tensor expand_dims(const Tensor& x, int64_t axis) {
  return Tensor::own(mt_expand_dims(x.get(), axis));
}
inline Tensor squeeze(const Tensor& x, Dims axes = {}) {
  return Tensor::own(mt_squeeze(x.get(), axes.data(), axes.size()));
}
inline Tensor flip(const Tensor& x, Dims axes = {}) {
  return Tensor::own(mt_flip(x.get(), axes.data(), axes.size()));
}
inline Tensor roll(const Tensor& x, Dims shifts, Dims axes) {
  detail::same_length("roll", shifts, axes);
  return Tensor::own(mt_roll(x.get(), shifts.data(), axes.data(), axes.size()));
}
inline Tensor tile(const Tensor& x, Dims counts) {
  return Tensor::own(mt_tile(x.get(), counts.data(), counts.size()));
}
inline Tensor repeat(const Tensor& x, int64_t count, int64_t axis) {
  return Tensor::own(mt_repeat(x.get(), count, axis));
}
inline Tensor repeat_by(const Tensor& x, const Tensor& counts, int64_t axis) {
  return Tensor::own(mt_repeat_by(x.get(), counts.get(), axis));
}
inline Tensor window(const Tensor& x, int64_t axis, int64_t size, int64_t step = 1,
                     int64_t dilation = 1) {
  return Tensor::own(mt_window(x.get(), axis, size, step, dilation));
}

/// Items of an index, by the C macros of the same names: index(x, {at(0), range(2, open_end)}).
using Item = mt_index_item;
/// An end of a range that is left open.
inline constexpr int64_t open_end = MT_OPEN;
inline Item at(int64_t i) { return MT_AT(i); }
inline Item range(int64_t start = open_end, int64_t stop = open_end, int64_t step = 1) {
  return MT_RANGE(start, stop, step);
}
inline Item new_axis() { return MT_NEW_AXIS; }
inline Item ellipsis() { return MT_ELLIPSIS; }
/// `positions` must outlive the call.
inline Item by(const Tensor& positions) { return MT_BY(positions.get()); }

/// The items of an index, as a parameter: {at(0), range()}, or anything that holds them in a row.
class Items {
 public:
  Items(std::initializer_list<Item> items) : items_(items.begin(), items.size()) {}
  Items(const std::vector<Item>& items) : items_(items) {}
  Items(std::span<const Item> items) : items_(items) {}
  const Item* data() const { return items_.data(); }
  size_t size() const { return items_.size(); }

 private:
  std::span<const Item> items_;
};

inline Tensor index(const Tensor& x, Items items) {
  return Tensor::own(mt_index(x.get(), items.data(), items.size()));
}
inline Tensor Tensor::operator[](const Items& items) const { return index(*this, items); }
inline void index_put(const Tensor& x, Items items, const Tensor& value) {
  check(mt_index_put(x.get(), items.data(), items.size(), value.get()));
}
inline Tensor select(const Tensor& x, int64_t axis, int64_t i) {
  return Tensor::own(mt_select(x.get(), axis, i));
}
inline Tensor slice(const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step = 1) {
  return Tensor::own(mt_slice(x.get(), axis, start, stop, step));
}
inline Tensor index_select(const Tensor& x, const Tensor& indices, int64_t axis) {
  return Tensor::own(mt_index_select(x.get(), indices.get(), axis));
}
inline Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis) {
  return Tensor::own(mt_take_along_axis(x.get(), indices.get(), axis));
}
inline Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& values,
                          int64_t axis) {
  return Tensor::own(mt_scatter_add(x.get(), indices.get(), values.get(), axis));
}
inline Tensor masked_select(const Tensor& x, const Tensor& mask) {
  return Tensor::own(mt_masked_select(x.get(), mask.get()));
}
inline Tensor concat(const Tensors& tensors, int64_t axis = 0) {
  return Tensor::own(mt_concat(detail::handles(tensors).data(), tensors.size(), axis));
}
inline Tensor stack(const Tensors& tensors, int64_t axis = 0) {
  return Tensor::own(mt_stack(detail::handles(tensors).data(), tensors.size(), axis));
}
inline Tensors split(const Tensor& x, Dims sizes, int64_t axis = 0) {
  return detail::filled(sizes.size(), [&](mt_tensor** results) {
    return mt_split(x.get(), sizes.data(), sizes.size(), axis, results);
  });
}
inline Tensor pad(const Tensor& x, Dims before, Dims after, double value = 0) {
  detail::same_length("pad", before, after);
  return Tensor::own(mt_pad(x.get(), before.data(), after.data(), before.size(), value));
}
inline Tensor pad_reflect(const Tensor& x, Dims before, Dims after) {
  detail::same_length("pad_reflect", before, after);
  return Tensor::own(mt_pad_reflect(x.get(), before.data(), after.data(), before.size()));
}
inline Tensor pad_edge(const Tensor& x, Dims before, Dims after) {
  detail::same_length("pad_edge", before, after);
  return Tensor::own(mt_pad_edge(x.get(), before.data(), after.data(), before.size()));
}
inline Tensor pad_wrap(const Tensor& x, Dims before, Dims after) {
  detail::same_length("pad_wrap", before, after);
  return Tensor::own(mt_pad_wrap(x.get(), before.data(), after.data(), before.size()));
}
inline Tensor tril(const Tensor& x, int64_t k = 0) { return Tensor::own(mt_tril(x.get(), k)); }
inline Tensor triu(const Tensor& x, int64_t k = 0) { return Tensor::own(mt_triu(x.get(), k)); }

}  // namespace mtorch

#endif
