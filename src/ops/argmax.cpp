// SPDX-License-Identifier: Apache-2.0
// Where the extreme elements are, and whether any or all elements are other than 0.
#include "base/error.h"
#include "ops/extremes.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/view.h"

namespace mt {
namespace {

// Along the middle axis of three. The first extreme element wins, and a NaN is more extreme than
// any number.
template <bool largest>
void extreme_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
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
  each_line(x.layout.shape, 1, [&](int64_t line, int64_t first, int64_t step) {
    int64_t best = 0;
    for (int64_t i = 1; i < x.layout.shape[1]; ++i) {
      if (better(first + i * step, first + best * step)) best = i;
    }
    y.set_integer(line, best);
  });
}
const Op argmax_op{.name = "argmax", .kind = OpKind::call, .value = extreme_value<true>};
const Op argmin_op{.name = "argmin", .kind = OpKind::call, .value = extreme_value<false>};

Tensor extreme(const Op& op, const Tensor& x, const Dims& axes, bool keep) {
  Dims chosen = normalize_axes(axes, x.rank(), op.name);
  // Axes that follow each other are taken where they lie; others come to the end.
  bool together = chosen.empty() || chosen.back() - chosen[0] + 1 == chosen.rank();
  int first = chosen.empty() ? 0 : static_cast<int>(chosen[0]);
  Dims order;
  Shape dropped, lines{1, 1, 1};
  for (int d = 0; d < x.rank(); ++d) {
    if (chosen.contains(d)) {
      lines[1] *= x.shape()[d];
      continue;
    }
    order.push_back(d);
    dropped.push_back(x.shape()[d]);
    lines[together && d > first ? 2 : 0] *= x.shape()[d];
  }
  for (int64_t axis : chosen) order.push_back(axis);
  if (lines[1] == 0) {
    fail(Code::invalid, "%s: %s has no elements to choose from", op.name,
         to_string(x.shape()).c_str());
  }
  Tensor y = record(op, Dtype::int64, dropped,
                    {contiguous(reshape(together ? x : permute(x, order), lines))});
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
