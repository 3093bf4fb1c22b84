// SPDX-License-Identifier: Apache-2.0
// Running products, by the linear recurrence y[i] = a[i] y[i - 1] + b[i], whose gradient is such a
// recurrence in turn, backwards: no division, so an element that is 0 does no harm.
#include <algorithm>
#include <cstdlib>

#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/running.h"
#include "ops/view.h"

namespace mt {
namespace {

// inputs: a and b of one shape; attributes: axis. a[0] counts as 0.
void recurrence_value(const NaiveCall& call) {
  const NaiveArray &a = call.inputs[0], &b = call.inputs[1], &y = call.output;
  int axis = static_cast<int>(call.attributes[0]);
  each_line(y.layout.shape, axis, [&](int64_t, int64_t first, int64_t step) {
    double value = 0;
    uint64_t whole = 0;
    for (int64_t i = 0; i < y.layout.shape[axis]; ++i) {
      int64_t element = first + i * step;
      if (is_floating(y.dtype)) {
        value = i ? a.number(element) * value + b.number(element) : b.number(element);
        y.set_number(element, value);
      } else {
        uint64_t factor = i ? static_cast<uint64_t>(a.integer(element)) : 0;
        whole = factor * whole + static_cast<uint64_t>(b.integer(element));
        y.set_integer(element, static_cast<int64_t>(whole));
      }
    }
  });
}

Tensor recurrence(const Tensor& a, const Tensor& b, int axis);

// x[i + by] at i, 0 where that leaves the axis.
Tensor shifted(const Tensor& x, int axis, int64_t by) {
  int64_t length = x.shape()[axis] - std::abs(by);
  if (length <= 0) return zeros_like(x);
  return place_along(slice(x, axis, std::max<int64_t>(by, 0), length, 1), x.shape(), axis,
                     std::max<int64_t>(-by, 0), 1);
}

// What reaches b[i] is dy[i] and, through a[i + 1], what reaches b[i + 1].
void recurrence_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  int axis = static_cast<int>(node.attributes[0]);
  Dims along{axis};
  Tensor after = shifted(node.inputs[0], axis, 1);
  Tensor db = flip(recurrence(flip(after, along), flip(dy, along), axis), along);
  Tensor y = recurrence(node.inputs[0], node.inputs[1], axis);
  gradients[0] = db * shifted(y, axis, -1);
  gradients[1] = db;
}
const Op recurrence_op{
    .name = "recurrence",
    .kind = OpKind::call,
    .value = recurrence_value,
    .gradient = recurrence_gradient,
};

Tensor recurrence(const Tensor& a, const Tensor& b, int axis) {
  return record(recurrence_op, b.dtype(), b.shape(), {contiguous(a), contiguous(b)}, {axis});
}

}  // namespace

Tensor cumulative_prod(const Tensor& x, int64_t axis) {
  int chosen = normalize_axis(axis, x.rank(), "cumulative_prod");
  Tensor factors = cast(x, running_dtype(x.dtype()));
  // y[0] = x[0]; from then on y[i] = x[i] y[i - 1].
  int64_t first = x.shape()[chosen] ? 1 : 0;
  Tensor begin = place_along(slice(factors, chosen, 0, first, 1), factors.shape(), chosen, 0, 1);
  Tensor y = recurrence(factors, begin, chosen);
  return is_half(x.dtype()) ? cast(y, x.dtype()) : y;
}

}  // namespace mt
