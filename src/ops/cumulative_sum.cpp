// SPDX-License-Identifier: Apache-2.0
// Running sums along an axis.
#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/running.h"
#include "ops/view.h"

namespace mt {
namespace {

// attributes: axis
void cumulative_sum_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  int axis = static_cast<int>(call.attributes[0]);
  each_line(y.layout.shape, axis, [&](int64_t, int64_t first, int64_t step) {
    double sum = 0;
    uint64_t integers = 0;
    for (int64_t i = 0; i < y.layout.shape[axis]; ++i) {
      int64_t element = first + i * step;
      if (is_floating(y.dtype)) {
        y.set_number(element, sum += x.number(element));
      } else {
        integers += static_cast<uint64_t>(x.integer(element));
        y.set_integer(element, static_cast<int64_t>(integers));
      }
    }
  });
}

void cumulative_sum_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  Dims axis{node.attributes[0]};
  gradients[0] = flip(cumulative_sum(flip(dy, axis), axis[0]), axis);
}
const Op cumulative_sum_op{
    .name = "cumulative_sum",
    .kind = OpKind::call,
    .value = cumulative_sum_value,
    .gradient = cumulative_sum_gradient,
};

}  // namespace

Tensor cumulative_sum(const Tensor& x, int64_t axis) {
  int chosen = normalize_axis(axis, x.rank(), "cumulative_sum");
  Dtype dtype = running_dtype(x.dtype());
  Tensor y = record(cumulative_sum_op, dtype, x.shape(), {contiguous(cast(x, dtype))}, {chosen});
  return is_half(x.dtype()) ? cast(y, x.dtype()) : y;
}

}  // namespace mt
