// SPDX-License-Identifier: Apache-2.0
// Slices: the elements of a strided block, as a view.
#include "ops/slice.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "ops/ops.h"

namespace mt {
namespace {

// attributes: start and step of each axis; one whose step is 0 gives a single position and is gone
Shape slice_lengths(const Node& node) {
  Shape lengths;
  int kept = 0;
  for (size_t i = 1; i < node.attributes.size(); i += 2) {
    lengths.push_back(node.attributes[i] == 0 ? 1 : node.shape[kept++]);
  }
  return lengths;
}
void slice_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  Block block = node.attributes;
  for (size_t i = 1; i < block.size(); i += 2) block[i] += block[i] == 0;
  const Shape &shape = node.inputs[0].shape(), lengths = slice_lengths(node);
  const Tensor part = reshape(dy, lengths);
  if (lengths != shape) {
    gradients[0] = place(part, shape, block, 0);
    return;
  }
  // All of x: what was turned round is turned back, to memory in order, as other libraries refuse
  // what lies backwards.
  const Tensor whole = take_block(part, shape, block);
  gradients[0] = whole.node() == part.node() ? part : copy(whole);
}
Tensor slice_again(const Node& node, const Tensor* inputs) {
  return take_block(inputs[0], slice_lengths(node), node.attributes);
}
}  // namespace

const Op slice_op{
    .name = "slice",
    .kind = OpKind::view,
    .gradient = slice_gradient,
    .record_again = slice_again,
};

Tensor slice(const Tensor& x, int axis, int64_t start, int64_t length, int64_t step) {
  int64_t size = x.shape()[axis];
  int64_t last = start + (length - 1) * step;
  if (length < 0 || (length > 0 && (start < 0 || start >= size || last < 0 || last >= size))) {
    fail(Code::index, "slice: %lld elements from %lld by %lld leave axis %d of %s",
         static_cast<long long>(length), static_cast<long long>(start),
         static_cast<long long>(step), axis, to_string(x.shape()).c_str());
  }
  if (start == 0 && step == 1 && length == size) return x;
  Shape lengths = x.shape();
  lengths[axis] = length;
  return take_block(x, lengths, block_along(axis, x.rank(), start, step));
}

Block block_along(int axis, int rank, int64_t start, int64_t step) {
  Block block;
  for (int d = 0; d < rank; ++d) {
    block.push_back(d == axis ? start : 0);
    block.push_back(d == axis ? step : 1);
  }
  return block;
}

Tensor take_block(const Tensor& x, const Shape& lengths, Block block) {
  const Layout whole = view_layout(x);
  Layout layout{{}, {}, whole.offset};
  bool changes = false;
  for (int d = 0; d < x.rank(); ++d) {
    int64_t start = block[2 * static_cast<size_t>(d)], step = block[2 * static_cast<size_t>(d) + 1];
    changes |= start != 0 || step != 1 || lengths[d] != x.shape()[d];
    if (lengths[d] > 0) layout.offset += start * whole.strides[d];
    if (step == 0) continue;
    layout.shape.push_back(lengths[d]);
    // A step may be as long as it likes where it is not taken.
    layout.strides.push_back(lengths[d] > 1 ? whole.strides[d] * step : whole.strides[d]);
  }
  if (!changes) return x;
  if (Tensor part = placed(x, lengths, block)) return reshape(part, layout.shape);
  return record_view(slice_op, x, layout, std::move(block));
}

std::optional<SliceOf> slice_of(const Node& node) {
  if (node.op != &slice_op) return std::nullopt;
  SliceOf slice{-1, 0, 1, slice_lengths(node)};
  const Shape& shape = node.inputs[0].shape();
  for (int d = 0; d < shape.rank(); ++d) {
    size_t i = 2 * static_cast<size_t>(d);
    int64_t start = node.attributes[i], step = node.attributes[i + 1];
    if (start == 0 && step == 1 && slice.lengths[d] == shape[d]) continue;
    if (slice.axis >= 0) return std::nullopt;
    slice.axis = d;
    slice.start = start;
    slice.step = step + (step == 0);
  }
  if (slice.axis < 0 || slice.lengths == shape) return std::nullopt;  // all of it
  return slice;
}

Tensor flip(const Tensor& x, const Dims& axes) {
  const Dims flipped = normalize_axes(axes, x.rank(), "flip");
  Block block;
  for (int d = 0; d < x.rank(); ++d) {
    bool turns = x.shape()[d] > 1 && flipped.contains(d);
    block.push_back(turns ? x.shape()[d] - 1 : 0);
    block.push_back(turns ? -1 : 1);
  }
  return take_block(x, x.shape(), block);
}

Range clip_range(int64_t start, int64_t stop, int64_t step, int64_t size, const char* name) {
  constexpr int64_t open = std::numeric_limits<int64_t>::min();
  if (step == 0) fail(Code::invalid, "%s: a range needs a step other than 0", name);
  if (step == open) step = -std::numeric_limits<int64_t>::max();
  auto clip = [&](int64_t end, int64_t when_open, int64_t low, int64_t high) {
    if (end == open) return when_open;
    if (end < 0) end += size;
    return std::clamp(end, low, high);
  };
  if (step > 0) {
    start = clip(start, 0, 0, size);
    stop = clip(stop, size, 0, size);
    return {start, stop > start ? (stop - start - 1) / step + 1 : 0, step};
  }
  start = clip(start, size - 1, -1, size - 1);
  stop = clip(stop, -1, -1, size - 1);
  return {start, start > stop ? (start - stop - 1) / -step + 1 : 0, step};
}

Tensor slice_between(const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step) {
  int chosen = normalize_axis(axis, x.rank(), "slice");
  Range range = clip_range(start, stop, step, x.shape()[chosen], "slice");
  return slice(x, chosen, range.length ? range.start : 0, range.length, range.step);
}

Tensor select(const Tensor& x, int64_t axis, int64_t index) {
  int chosen = normalize_axis(axis, x.rank(), "select");
  int64_t size = x.shape()[chosen];
  if (index < -size || index >= size) {
    fail(Code::index, "select: index %lld is outside axis %d of %s", static_cast<long long>(index),
         chosen, to_string(x.shape()).c_str());
  }
  Shape lengths = x.shape();
  lengths[chosen] = 1;
  return take_block(x, lengths, block_along(chosen, x.rank(), index < 0 ? index + size : index, 0));
}

}  // namespace mt
