// SPDX-License-Identifier: Apache-2.0
// x[items] and x[items] = value, by NumPy's rules. Ranges, positions and new axes are views; what
// index tensors pick is one gather. Assignment finds for each position the last row that goes
// there and selects between that row and x, so its gradients are those of gather and where.
#include "base/error.h"
#include "base/thread.h"
#include "graph/record.h"
#include "ops/checked_indices.h"
#include "ops/gather.h"
#include "ops/nonzero.h"
#include "ops/ops.h"
#include "ops/slice.h"

namespace mt {
namespace {

// What the items make of x, in two steps: a view of the block that they select, then a gather
// along those axes of the view that have index tensors.
struct Resolved {
  Shape lengths;          // of the block, an axis of x each
  Block block;            // start and step of each; one whose step is 0 is dropped
  Shape view;             // the block without dropped axes and with new ones
  bool reshaped = false;  // it has new ones
  Dims indexed;           // axes of the view that have an index tensor
  Inputs indices;         // those tensors, int64, one for each
  Tensor mask;            // where one is the only index tensor: it, at axis indexed[0] of the view
  bool whole = true;      // the block is all of x
  bool in_front = false;  // the index tensors' shape goes in front, they are not adjacent
  Shape common;           // the shape that the index tensors broadcast to

  bool gathers() const { return !indexed.empty(); }
};

int axes_of(const IndexItem& item) {
  switch (item.kind) {
    case IndexItem::at:
    case IndexItem::range: return 1;
    case IndexItem::by: return item.tensor.dtype() == Dtype::boolean ? item.tensor.rank() : 1;
    default: return 0;
  }
}

class Resolver {
 public:
  Resolver(const Tensor& x, const char* name) : x_(x), name_(name) {}

  Resolved result;

  void run(const IndexItems& items, bool mask_as_it_is) {
    int named = 0, ellipses = 0, tensors = 0;
    for (const IndexItem& item : items) {
      named += axes_of(item);
      ellipses += item.kind == IndexItem::ellipsis;
      tensors += item.kind == IndexItem::by;
    }
    if (named > x_.rank()) {
      fail(Code::index, "%s: %d axes are indexed, but the shape is %s", name_, named,
           to_string(x_.shape()).c_str());
    }
    if (ellipses > 1) fail(Code::index, "%s: more than one ellipsis", name_);
    mask_as_it_is_ = mask_as_it_is && tensors == 1;
    has_tensors_ = tensors > 0;
    for (const IndexItem& item : items) {
      switch (item.kind) {
        case IndexItem::at: at(item.start); break;
        case IndexItem::range: range(item); break;
        case IndexItem::new_axis:
          separate();
          new_axis();
          break;
        case IndexItem::ellipsis:
          separate();
          for (int i = named; i < x_.rank(); ++i) keep(0, x_.shape()[axis_], 1);
          break;
        case IndexItem::by: by(item.tensor); break;
      }
    }
    while (axis_ < x_.rank()) keep(0, x_.shape()[axis_], 1);
    for (const Tensor& index : result.indices) {
      result.common = broadcast(result.common, index.shape(), name_);
    }
  }

 private:
  // Positions and index tensors are adjacent until something else comes between them.
  void separate() {
    if (seen_ == 1) seen_ = 2;
  }
  void advanced() {
    if (!has_tensors_) return;
    if (seen_ == 2) result.in_front = true;
    seen_ = seen_ == 0 ? 1 : seen_;
  }

  void new_axis() {
    result.view.push_back(1);
    result.reshaped = true;
  }

  void block(int64_t start, int64_t length, int64_t step) {
    result.lengths.push_back(length);
    result.block.push_back(start);
    result.block.push_back(step);
    result.whole &= start == 0 && step <= 1 && length == x_.shape()[axis_];
    ++axis_;
  }

  void keep(int64_t start, int64_t length, int64_t step) {
    result.view.push_back(length);
    block(length ? start : 0, length, step);
  }

  void at(int64_t index) {
    int64_t size = x_.shape()[axis_];
    if (index < -size || index >= size) {
      fail(Code::index, "%s: index %lld is outside axis %d of %s", name_,
           static_cast<long long>(index), axis_, to_string(x_.shape()).c_str());
    }
    advanced();
    block(index < 0 ? index + size : index, 1, 0);
  }

  void range(const IndexItem& item) {
    separate();
    Range r = clip_range(item.start, item.stop, item.step, x_.shape()[axis_], name_);
    keep(r.start, r.length, r.step);
  }

  void by(const Tensor& tensor) {
    advanced();
    if (tensor.dtype() != Dtype::boolean) {
      Tensor indices = checked_indices(tensor, axis_, x_.shape(), name_);
      gathered(indices);
      return;
    }
    for (int d = 0; d < tensor.rank(); ++d) {
      // The Array API standard lets a size of 0, which picks nothing, stand beside any other.
      if (tensor.shape()[d] != x_.shape()[axis_ + d] && tensor.shape()[d] != 0) {
        fail(Code::index, "%s: a bool tensor of shape %s does not fit axis %d of %s", name_,
             to_string(tensor.shape()).c_str(), axis_ + d, to_string(x_.shape()).c_str());
      }
    }
    if (mask_as_it_is_ && tensor.size() != 0) {
      result.mask = tensor;
      result.indexed.push_back(result.view.rank());
      for (int d = 0; d < tensor.rank(); ++d) keep(0, x_.shape()[axis_], 1);
      return;
    }
    if (tensor.rank() == 0) {  // a new axis of size 1 or 0
      result.indexed.push_back(result.view.rank());
      new_axis();
      result.indices.push_back(flat_nonzero(tensor, name_));
      return;
    }
    Tensor positions = nonzero(tensor);
    for (int d = 0; d < tensor.rank(); ++d) {
      gathered(reshape(slice(positions, 1, d, 1, 1), {positions.shape()[0]}));
    }
  }

  void gathered(const Tensor& indices) {
    result.indexed.push_back(result.view.rank());
    result.indices.push_back(indices);
    keep(0, x_.shape()[axis_], 1);
  }

  const Tensor& x_;
  const char* name_;
  int axis_ = 0;
  int seen_ = 0;  // 0: nothing advanced yet; 1: in the first run of it; 2: after that run
  bool mask_as_it_is_ = false, has_tensors_ = false;
};

bool adjacent(const Dims& axes) { return axes.back() - axes[0] + 1 == axes.rank(); }

// The view with its indexed axes next to each other: as they are, else all in front.
Dims gather_order(const Resolved& r) {
  Dims order;
  if (!adjacent(r.indexed)) order = r.indexed;
  for (int d = 0; d < r.view.rank(); ++d) {
    if (!order.contains(d)) order.push_back(d);
  }
  return order;
}
int first_indexed(const Resolved& r) {
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

Tensor view_of(const Tensor& x, const Resolved& r) {
  Tensor taken = take_block(x, r.lengths, r.block);
  if (!r.reshaped) return taken;
  return reshape(taken, r.view);
}

// The block in x, with the axes that it drops.
Block with_all_axes(const Resolved& r) {
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

Inputs flat_indices(const Resolved& r) {
  Inputs flat;
  for (const Tensor& index : r.indices) {
    flat.push_back(reshape(expand(index, r.common), {element_count(r.common)}));
  }
  return flat;
}

// The gathered view's axes, with the common shape where the indexed axes were.
Shape gathered_shape(const Resolved& r, const Shape& ordered) {
  int first = first_indexed(r);
  Shape shape(ordered.data(), first);
  for (int64_t size : r.common) shape.push_back(size);
  for (int d = first + r.indexed.rank(); d < ordered.rank(); ++d) shape.push_back(ordered[d]);
  return shape;
}

// What one mask picks of the view: its axes as one, from which one index picks.
Tensor masked(const Tensor& view, const Resolved& r) {
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
Tensor put_rows(const Tensor& x, int first, const Inputs& indices, const Tensor& value) {
  if (indices[0].size() == 0) return x;
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
  Resolver resolver(x, "index");
  resolver.run(items, true);
  const Resolved& r = resolver.result;
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
  Resolver resolver(x, name);
  resolver.run(items, value.rank() == 0);
  const Resolved& r = resolver.result;
  Tensor source = as_dtype(value, x.dtype(), x.device());
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
    changed = put_rows(view, first, flat_indices(r), reshape(rows, flat));
    if (!adjacent(r.indexed)) changed = permute(changed, inverse(order));
  }
  if (element_count(r.lengths) == 0) return x;
  changed = reshape(changed, r.lengths);
  return r.whole ? changed : overlay(x, changed, with_all_axes(r));
}

}  // namespace mt
