// SPDX-License-Identifier: Apache-2.0
// Sorting: the positions that sort, from which other things are picked, and the sorted elements.
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/view.h"

namespace mt {
namespace {

// Sorts the last axis and gives set(i, row, j) the first of each row: element i of the output is
// element j of the input's row.
template <class F>
void sort_rows(const NaiveCall& call, F&& set) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  int64_t length = x.layout.shape.back(), kept = y.layout.shape.back();
  bool descending = call.attributes[0];
  std::vector<int64_t> order(static_cast<size_t>(length));
  for (int64_t row = 0; kept && row < y.size() / kept; ++row) {
    std::iota(order.begin(), order.end(), row * length);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      return descending ? comes_before(x, j, x, i) : comes_before(x, i, x, j);
    });
    for (int64_t i = 0; i < kept; ++i) {
      set(row * kept + i, row, order[i] - row * length);
    }
  }
}

// attributes of both: descending
void argsort_value(const NaiveCall& call) {
  sort_rows(call, [&](int64_t i, int64_t, int64_t j) { call.output.set_integer(i, j); });
}
const Op argsort_op{.name = "argsort", .kind = OpKind::call, .value = argsort_value};

void sort_value(const NaiveCall& call) {
  const NaiveArray& x = call.inputs[0];
  sort_rows(call, [&](int64_t i, int64_t row, int64_t j) {
    move_element(call.output, i, x, row * x.layout.shape.back() + j);
  });
}
void sort_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor& x = node.inputs[0];
  Tensor positions = argsort(x, x.rank() - 1, node.attributes[0]);
  Tensor zeros = full(x.shape(), 0, dy.dtype(), dy.device());
  gradients[0] = scatter_add(zeros, positions, dy, x.rank() - 1);
}
const Op sort_op{
    .name = "sort",
    .kind = OpKind::call,
    .value = sort_value,
    .gradient = sort_gradient,
};

// f of x's rows along the axis, which f is given as the last one.
template <class F>
Tensor along(const Tensor& x, int axis, F&& f) {
  Dims order, back;
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis) order.push_back(d);
    back.push_back(d < axis ? d : d == axis ? x.rank() - 1 : d - 1);
  }
  order.push_back(axis);
  bool last = axis == x.rank() - 1;
  Tensor y = f(contiguous(last ? x : permute(x, order)));
  return last ? y : permute(y, back);
}

// The first `count` positions of x in order along the axis.
Tensor sorted_positions(const Tensor& x, int axis, bool descending, int64_t count) {
  if (x.rank() == 0) return full({}, 0, Dtype::int64, x.device());
  // A NaN is the largest and, for argmin, the smallest element.
  if (count == 1 && descending) return argmax(x, {axis}, true);
  if (count == 1 && is_integer(x.dtype())) return argmin(x, {axis}, true);
  return along(x, axis, [&](const Tensor& rows) {
    Shape shape = rows.shape();
    shape[x.rank() - 1] = count;
    return record(argsort_op, Dtype::int64, shape, {rows}, {descending});
  });
}

int axis_of(const Tensor& x, int64_t axis, const char* name) {
  // NumPy and PyTorch take a number as a vector of one here.
  return x.rank() == 0 && (axis == 0 || axis == -1) ? 0 : normalize_axis(axis, x.rank(), name);
}

}  // namespace

Tensor argsort(const Tensor& x, int64_t axis, bool descending) {
  int chosen = axis_of(x, axis, "argsort");
  return sorted_positions(x, chosen, descending, x.rank() ? x.shape()[chosen] : 1);
}

Tensor sort(const Tensor& x, int64_t axis, bool descending) {
  int chosen = axis_of(x, axis, "sort");
  if (x.rank() == 0) return x;
  return along(x, chosen, [&](const Tensor& rows) {
    return record(sort_op, x.dtype(), rows.shape(), {rows}, {descending});
  });
}

TopK topk(const Tensor& x, int64_t k, int64_t axis, bool largest) {
  if (x.rank() == 0) {
    fail(Code::shape, "topk: needs at least one dimension");
  }
  int chosen = normalize_axis(axis, x.rank(), "topk");
  if (k < 0 || k > x.shape()[chosen]) {
    fail(Code::index, "topk: k is %lld, but axis %d of %s has size %lld", static_cast<long long>(k),
         chosen, to_string(x.shape()).c_str(), static_cast<long long>(x.shape()[chosen]));
  }
  Tensor positions = sorted_positions(x, chosen, largest, k);
  return {take_along_axis(x, positions, chosen), positions};
}

}  // namespace mt
