// SPDX-License-Identifier: Apache-2.0
// Where the extreme elements are, and whether any or all elements are other than 0.
#include "ops/indexing.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "tensor/error.h"

namespace mt {
namespace {

// The first extreme element of each row wins, and a NaN is more extreme than any number.
template <bool largest>
void extreme_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  int64_t length = x.layout.shape.back();
  auto better = [&](int64_t i, int64_t j) {
    if (is_floating(x.dtype)) {
      double a = x.number(i), b = x.number(j);
      return b == b && (a != a || (largest ? a > b : a < b));
    }
    int64_t a = x.integer(i), b = x.integer(j);
    if (x.dtype == Dtype::uint64) {
      return largest ? static_cast<uint64_t>(a) > static_cast<uint64_t>(b)
                     : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
    }
    return largest ? a > b : a < b;
  };
  for (int64_t row = 0; row < y.size(); ++row) {
    int64_t best = row * length;
    for (int64_t i = best; i < (row + 1) * length; ++i) {
      if (better(i, best)) best = i;
    }
    y.set_integer(row, best - row * length);
  }
}
const Op argmax_op{"argmax", OpKind::call, 0, extreme_value<true>};
const Op argmin_op{"argmin", OpKind::call, 0, extreme_value<false>};

Shape kept_shape(const Shape& shape, const Dims& axes) {
  Shape kept = shape;
  for (int64_t axis : axes) kept[static_cast<int>(axis)] = 1;
  return kept;
}

Tensor extreme(const Op& op, const Tensor& x, const Dims& axes, bool keep) {
  Dims chosen = normalize_axes(axes, x.rank(), op.name);
  Dims order;
  Shape dropped, rows;
  int64_t length = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (chosen.contains(d)) continue;
    order.push_back(d);
    dropped.push_back(x.shape()[d]);
  }
  rows = dropped;
  bool in_order = true;
  for (int64_t axis : chosen) {
    in_order &= axis == order.rank();
    order.push_back(axis);
    length *= x.shape()[static_cast<int>(axis)];
  }
  if (length == 0) {
    fail(Code::invalid, "%s: %s has no elements to choose from", op.name,
         to_string(x.shape()).c_str());
  }
  rows.push_back(length);
  Tensor y = record(op, Dtype::int64, dropped,
                    {contiguous(reshape(in_order ? x : permute(x, order), rows))});
  return keep ? reshape(y, kept_shape(x.shape(), chosen)) : y;
}

// The largest (or smallest) truth value.
Tensor truth(const Tensor& x, const Dims& axes, bool keep, bool any, const char* name) {
  Dims chosen = normalize_axes(axes, x.rank(), name);
  Tensor values = cast(x, Dtype::boolean);
  if (x.rank() == 0) return values;
  Shape shape = kept_shape(x.shape(), chosen);
  if (x.size() > 0) return any ? max(values, axes, keep) : min(values, axes, keep);
  Tensor y = full_integer(shape, any ? 0 : 1, Dtype::boolean, x.device());
  return keep ? y : squeeze(y, chosen);
}

}  // namespace

Tensor argmax(const Tensor& x, const Dims& axes, bool keep) {
  return extreme(argmax_op, x, axes, keep);
}
Tensor argmin(const Tensor& x, const Dims& axes, bool keep) {
  return extreme(argmin_op, x, axes, keep);
}
Tensor any(const Tensor& x, const Dims& axes, bool keep) {
  return truth(x, axes, keep, true, "any");
}
Tensor all(const Tensor& x, const Dims& axes, bool keep) {
  return truth(x, axes, keep, false, "all");
}

}  // namespace mt
