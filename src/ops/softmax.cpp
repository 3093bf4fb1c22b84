// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm: compositions of element-wise operators and reductions of rows, which
// fusion runs in one pass over each row.
#include "base/error.h"
#include "graph/modes.h"
#include "graph/record.h"
#include "ops/ops.h"
#include "ops/own_gradient.h"

namespace mt {
namespace {

// x with `axis` last, in the type that sums are kept in.
Tensor rows_of(const Tensor& x, int axis, const char* name) {
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "%s: needs floats, got %s", name, name_of(x.dtype()));
  }
  return cast(move_axis(x, axis, -1), accumulator_of(x.dtype()));
}

// The largest element of each row. It only keeps numbers small: the result does not depend on it.
Tensor shift_of(const Tensor& rows, const Dims& axes) {
  GradientMode none(false);
  return max(rows, axes, true);
}

// The gradient of y = exp(x) / sum(exp(x)) needs nothing but y: dx = y * (dy - sum(dy * y)), all of
// which goes through the exponentials, none by way of their sum.
const Op exponential_op = with_own_gradient(
    "exp", Elementwise::exp, [](const Node&, const Tensor& dy, Tensor* to) { to[0] = dy; });
const Op share_op =
    with_own_gradient("mul", Elementwise::mul, [](const Node& node, const Tensor& dy, Tensor* to) {
      Tensor y(const_cast<Node*>(&node));
      to[0] = y * (dy - sum(dy * y, {-1}, true));
    });

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) {
  int at = normalize_axis(axis, x.rank(), "softmax");
  Tensor rows = rows_of(x, at, "softmax");
  if (x.shape()[at] == 0) return copy(x);
  Tensor shifted = rows - shift_of(rows, {-1});
  Tensor e = record(exponential_op, shifted.dtype(), shifted.shape(), {shifted});
  // One division for each row: the sum is at least 1, so its reciprocal is a normal number.
  Tensor y = record(share_op, e.dtype(), e.shape(), {e, reciprocal(sum(e, {-1}, true))});
  return move_axis(cast(y, x.dtype()), -1, at);
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  int at = normalize_axis(axis, x.rank(), "log_softmax");
  Tensor rows = rows_of(x, at, "log_softmax");
  if (x.shape()[at] == 0) return copy(x);
  Tensor shifted = rows - shift_of(rows, {-1});
  Tensor y = shifted - log(sum(exp(shifted), {-1}, true));
  return move_axis(cast(y, x.dtype()), -1, at);
}

Tensor logsumexp(const Tensor& x, const Dims& axes, bool keep) {
  Dtype dtype = is_floating(x.dtype()) ? x.dtype() : Dtype::float32;
  Tensor wide = cast(x, accumulator_of(dtype));
  Dims chosen = normalize_axes(axes, x.rank(), "logsumexp");
  int64_t count = 1;
  for (int64_t a : chosen) count *= x.shape()[static_cast<int>(a)];
  if (count == 0) return cast(log(sum(wide, chosen, keep)), dtype);  // of nothing: log(0)
  Tensor shift = shift_of(wide, chosen);
  // Rows of -infinity alone, and rows with an infinity, are not shifted: inf - inf is NaN.
  Tensor usable = where(isfinite(shift), shift, number(0, x.device()));
  Tensor total = log(sum(exp(wide - usable), chosen, keep));
  Tensor kept = keep ? usable : reshape(usable, total.shape());
  return cast(total + kept, dtype);
}

}  // namespace mt
