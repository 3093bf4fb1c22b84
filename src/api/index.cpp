// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/view.h that index, join and cut.
#include "api/guard.h"
#include "mtorch/view.h"
#include "ops/ops.h"

using namespace mt;
using namespace mt::api;

namespace {

void read_item(const mt_index_item& given, IndexItem* item) {
  item->start = given.start;
  item->stop = given.stop;
  item->step = given.step;
  switch (given.kind) {
    case MT_INDEX_AT: item->kind = IndexItem::at; break;
    case MT_INDEX_RANGE: item->kind = IndexItem::range; break;
    case MT_INDEX_NEW_AXIS: item->kind = IndexItem::new_axis; break;
    case MT_INDEX_ELLIPSIS: item->kind = IndexItem::ellipsis; break;
    case MT_INDEX_BY:
      item->kind = IndexItem::by;
      item->tensor = value(given.tensor);
      break;
    default:
      fail(Code::invalid, "index: an item of kind %d; use MT_AT, MT_RANGE and the like",
           static_cast<int>(given.kind));
  }
}

IndexItems items_of(const mt_index_item* items, size_t count) {
  if (count) required(items, "the array of items");
  IndexItems result;
  result.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    result.push_back({});  // filled in where it lies: copying what was just written is slow
    read_item(items[i], &result[i]);
  }
  return result;
}

}  // namespace

mt_tensor* mt_index(mt_tensor* x, const mt_index_item* items, size_t n) {
  return give("index", [&] {
    Tensor read_now;
    return mt::index(borrowed_value(x, &read_now), items_of(items, n));
  });
}

mt_status mt_index_put(mt_tensor* x, const mt_index_item* items, size_t n, mt_tensor* given) {
  return change("index_put", [&] {
    rebind(required(x, "a tensor"), index_put(value(x), items_of(items, n), operand(given)),
           "index_put");
  });
}

mt_tensor* mt_select(mt_tensor* x, int64_t axis, int64_t index) {
  return give("select", [&] { return mt::select(value(x), axis, index); });
}

mt_tensor* mt_slice(mt_tensor* x, int64_t axis, int64_t start, int64_t stop, int64_t step) {
  return give("slice", [&] { return slice_between(value(x), axis, start, stop, step); });
}

mt_tensor* mt_index_select(mt_tensor* x, mt_tensor* indices, int64_t axis) {
  return give("index_select", [&] {
    Tensor positions = value(indices);
    if (positions.rank() != 1) {
      fail(Code::shape, "index_select: indices need one dimension, got %s",
           to_string(positions.shape()).c_str());
    }
    return index_select(value(x), positions, axis);
  });
}

mt_tensor* mt_take_along_axis(mt_tensor* x, mt_tensor* indices, int64_t axis) {
  return give("take_along_axis", [&] { return take_along_axis(value(x), value(indices), axis); });
}

mt_tensor* mt_scatter_add(mt_tensor* x, mt_tensor* indices, mt_tensor* values, int64_t axis) {
  return give("scatter_add",
              [&] { return scatter_add(value(x), value(indices), value(values), axis); });
}

mt_tensor* mt_masked_select(mt_tensor* x, mt_tensor* mask) {
  return give("masked_select", [&] { return masked_select(value(x), value(mask)); });
}

mt_tensor* mt_concat(mt_tensor* const* tensors, size_t n, int64_t axis) {
  return give("concat", [&] { return concat(values(tensors, n), axis); });
}

mt_tensor* mt_stack(mt_tensor* const* tensors, size_t n, int64_t axis) {
  return give("stack", [&] { return stack(values(tensors, n), axis); });
}

mt_status mt_split(mt_tensor* x, const int64_t* sizes, size_t n, int64_t axis,
                   mt_tensor** results) {
  return give_all("split", results, n, [&] {
    if (n) required(sizes, "the array of sizes");
    return split(value(x), std::vector<int64_t>(sizes, sizes + n), axis);
  });
}

mt_tensor* mt_pad(mt_tensor* x, const int64_t* before, const int64_t* after, size_t ndim,
                  double fill) {
  return give("pad", [&] { return pad(value(x), dims(before, ndim), dims(after, ndim), fill); });
}

mt_tensor* mt_pad_reflect(mt_tensor* x, const int64_t* before, const int64_t* after, size_t ndim) {
  return give("pad_reflect", [&] {
    return pad(value(x), dims(before, ndim), dims(after, ndim), Border::reflect);
  });
}

mt_tensor* mt_pad_edge(mt_tensor* x, const int64_t* before, const int64_t* after, size_t ndim) {
  return give("pad_edge",
              [&] { return pad(value(x), dims(before, ndim), dims(after, ndim), Border::edge); });
}

mt_tensor* mt_pad_wrap(mt_tensor* x, const int64_t* before, const int64_t* after, size_t ndim) {
  return give("pad_wrap",
              [&] { return pad(value(x), dims(before, ndim), dims(after, ndim), Border::wrap); });
}

mt_tensor* mt_roll(mt_tensor* x, const int64_t* shifts, const int64_t* axes, size_t naxes) {
  return give("roll", [&] {
    Dims along = dims(axes, naxes);
    if (naxes) required(shifts, "the array of shifts");
    return roll(value(x), std::vector<int64_t>(shifts, shifts + naxes), along);
  });
}

mt_tensor* mt_tile(mt_tensor* x, const int64_t* counts, size_t n) {
  return give("tile", [&] { return tile(value(x), dims(counts, n)); });
}

mt_tensor* mt_repeat(mt_tensor* x, int64_t count, int64_t axis) {
  return give("repeat", [&] { return repeat(value(x), count, axis); });
}

mt_tensor* mt_repeat_by(mt_tensor* x, mt_tensor* counts, int64_t axis) {
  return give("repeat_by", [&] { return repeat(value(x), value(counts), axis); });
}

mt_tensor* mt_tril(mt_tensor* x, int64_t k) {
  return give("tril", [&] { return tril(value(x), k); });
}

mt_tensor* mt_triu(mt_tensor* x, int64_t k) {
  return give("triu", [&] { return triu(value(x), k); });
}
