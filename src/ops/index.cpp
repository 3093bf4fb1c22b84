// SPDX-License-Identifier: Apache-2.0
// x[items] and x[items] = value, by NumPy's rules. Ranges, positions and new axes are views; what
// index tensors pick is one gather. Assignment puts rows there one after another; on a device it
// finds for each position the last row that goes there and selects between that row and x.
#include "base/error.h"
#include "base/thread.h"
#include "graph/record.h"
#include "ops/gather.h"
#include "ops/nonzero.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/resolve_items.h"
#include "ops/slice.h"

namespace mt {
namespace {

bool adjacent(const Dims& axes) { return axes.back() - axes[0] + 1 == axes.rank(); }

// The view with its indexed axes next to each other: as they are, else all in front.
Dims gather_order(const ResolvedItems& r) {
  Dims order;
  if (!adjacent(r.indexed)) order = r.indexed;
  for (int d = 0; d < r.view.rank(); ++d) {
    if (!order.contains(d)) order.push_back(d);
  }
  return order;
}
int first_indexed(const ResolvedItems& r) {
  return adjacent(r.indexed) ? static_cast<int>(r.indexed[0]) : 0;
}

Dims inverse(const Dims& order) {
  Dims result = order;
  for (int i = 0; i < order.rank(); ++i) result[static_cast<int>(order[i])] = i;
  return result;
}

// `count` axes from `from` on come to stand at `to`.
Dims moved(int rank, int from, int count, int to) {
  Dims rest, order;
  for (int d = 0; d < rank; ++d) {
    if (d < from || d >= from + count) rest.push_back(d);
  }
  for (int i = 0; i <= rest.rank(); ++i) {
    if (i == to) {
      for (int d = 0; d < count; ++d) order.push_back(from + d);
    }
    if (i < rest.rank()) order.push_back(rest[i]);
  }
  return order;
}

Tensor view_of(const Tensor& x, const ResolvedItems& r) {
  Tensor taken = take_block(x, r.lengths, r.block);
  if (!r.reshaped) return taken;
  return reshape(taken, r.view);
}

// The block in x, with the axes that it drops.
Block with_all_axes(const ResolvedItems& r) {
  Block block = r.block;
  for (size_t i = 1; i < block.size(); i += 2) block[i] += block[i] == 0;
  return block;
}

// What positions and ranges, the commonest items, see of a value. False for whatever needs more
// thought, or refusal.
bool find_part(const Tensor& x, const IndexItems& items, Layout* part) {
  const Shape& shape = x.shape();
  const Strides& strides = x->strides;
  int named = 0, axis = 0, ellipses = 0;
  for (const IndexItem& item : items) {
    if (item.kind == IndexItem::by) return false;
    named += item.kind == IndexItem::at || item.kind == IndexItem::range;
    ellipses += item.kind == IndexItem::ellipsis;
  }
  int left = shape.rank() - named, added = static_cast<int>(items.size()) - named - ellipses;
  if (left < 0 || ellipses > 1 || shape.rank() + added > max_rank) return false;
  part->offset = x->offset;
  auto keep = [&](int64_t size, int64_t stride) {
    part->shape.push_back(size);
    part->strides.push_back(stride);
  };
  auto keep_others = [&] {
    for (int end = axis + left; axis < end; ++axis) keep(shape[axis], strides[axis]);
    left = 0;
  };
  for (const IndexItem& item : items) {
    if (item.kind == IndexItem::at) {
      int64_t at = item.start < 0 ? item.start + shape[axis] : item.start;
      if (at < 0 || at >= shape[axis]) return false;
      part->offset += at * strides[axis++];
    } else if (item.kind == IndexItem::range) {
      Range range = clip_range(item.start, item.stop, item.step, shape[axis], "index");
      if (range.length) part->offset += range.start * strides[axis];
      // A step may be as long as it likes where it is not taken.
      keep(range.length, range.length > 1 ? strides[axis] * range.step : strides[axis]);
      ++axis;
    } else if (item.kind == IndexItem::new_axis) {
      keep(1, 1);
    } else {
      keep_others();
    }
  }
  keep_others();
  return true;
}

Inputs flat_indices(const ResolvedItems& r) {
  Inputs flat;
  for (const Tensor& index : r.indices) {
    flat.push_back(reshape(expand(index, r.common), {element_count(r.common)}));
  }
  return flat;
}

// The gathered view's axes, with the common shape where the indexed axes were.
Shape gathered_shape(const ResolvedItems& r, const Shape& ordered) {
  int first = first_indexed(r);
  Shape shape(ordered.data(), first);
  for (int64_t size : r.common) shape.push_back(size);
  for (int d = first + r.indexed.rank(); d < ordered.rank(); ++d) shape.push_back(ordered[d]);
  return shape;
}

// What one mask picks of the view: its axes as one, from which one index picks.
Tensor masked(const Tensor& view, const ResolvedItems& r) {
  int first = static_cast<int>(r.indexed[0]), after = first + r.mask.rank();
  Shape merged(view.shape().data(), first);
  merged.push_back(r.mask.size());
  for (int d = after; d < view.rank(); ++d) merged.push_back(view.shape()[d]);
  Tensor y = gather(reshape(view, merged), first, {flat_nonzero(r.mask, "index")});
  if (!r.in_front || first == 0) return y;
  return permute(y, moved(y.rank(), first, 1, 0));
}

// Rows of x, from axis `first` on as many as there are indices, replaced by those of `value`,
// which has one axis in their place.
Tensor put(const Tensor& x, int first, const Inputs& indices, const Tensor& value) {
  if (indices[0].size() == 0) return x;
  if (x.device().host_memory) return put_rows(x, value, first, indices);
  int count = static_cast<int>(indices.size());
  Shape sizes(x.shape().data() + first, count);
  Tensor writer = last_writer(indices, sizes);
  Tensor zero = integer_number(0, x.device());
  Tensor source = reshape(maximum(writer, zero), {element_count(sizes)});
  Tensor rows = reshape(gather(value, first, {source}), x.shape());
  Shape beside = sizes;
  while (beside.rank() < x.rank() - first) beside.push_back(1);
  return where(reshape(greater_equal(writer, zero), beside), rows, x);
}

}  // namespace

Tensor index(const Tensor& x, const IndexItems& items) {
  if (Thread& thread = current_thread(); is_untracked(x, thread)) {
    Layout part;
    if (find_part(x, items, &part)) return untracked_view(slice_op, x, part, {}, thread);
  }
  const ResolvedItems r = resolve_items(x, items, "index", true);
  Tensor view = view_of(x, r);
  if (!r.gathers()) return view;
  if (r.mask) return masked(view, r);
  if (!adjacent(r.indexed)) view = permute(view, gather_order(r));
  int first = first_indexed(r);
  Tensor y = reshape(gather(view, first, flat_indices(r)), gathered_shape(r, view.shape()));
  if (!r.in_front || first == 0) return y;
  return permute(y, moved(y.rank(), first, r.common.rank(), 0));
}

Tensor index_put(const Tensor& x, const IndexItems& items, const Tensor& value) {
  const char* name = "index_put";
  const ResolvedItems r = resolve_items(x, items, name, value.rank() == 0);
  Tensor source = as_dtype(value, x.dtype(), x.device(), name);
  auto spread = [&](const Shape& shape) {
    // As in NumPy, leading sizes of 1 that the target lacks are dropped.
    Shape own = source.shape();
    while (own.rank() > shape.rank() && own[0] == 1) own.erase(0);
    if (own.rank() > shape.rank() || broadcast(own, shape, name) != shape) {
      fail(Code::shape, "%s: a value of shape %s does not broadcast to %s", name,
           to_string(value.shape()).c_str(), to_string(shape).c_str());
    }
    return expand(reshape(source, own), shape);
  };

  Tensor changed;
  if (!r.gathers()) {
    changed = spread(r.view);
  } else if (r.mask) {
    int first = static_cast<int>(r.indexed[0]);
    Shape beside = r.mask.shape();
    while (beside.rank() < r.view.rank() - first) beside.push_back(1);
    changed = where(reshape(r.mask, beside), source, view_of(x, r));
  } else {
    Dims order = gather_order(r);
    Tensor view = view_of(x, r);
    if (!adjacent(r.indexed)) view = permute(view, order);
    int first = first_indexed(r);
    Shape shape = gathered_shape(r, view.shape());
    Tensor rows;
    if (r.in_front && first > 0) {
      Dims to_front = moved(shape.rank(), first, r.common.rank(), 0);
      Shape result;
      for (int64_t d : to_front) result.push_back(shape[static_cast<int>(d)]);
      rows = permute(spread(result), inverse(to_front));
    } else {
      rows = spread(shape);
    }
    Shape flat(shape.data(), first);
    flat.push_back(element_count(r.common));
    for (int d = first + r.indexed.rank(); d < view.rank(); ++d) flat.push_back(view.shape()[d]);
    changed = put(view, first, flat_indices(r), reshape(rows, flat));
    if (!adjacent(r.indexed)) changed = permute(changed, inverse(order));
  }
  if (element_count(r.lengths) == 0) return x;
  changed = reshape(changed, r.lengths);
  return r.whole ? changed : overlay(x, changed, with_all_axes(r));
}

}  // namespace mt
