// SPDX-License-Identifier: Apache-2.0
// Variance, standard deviation and vector norms, composed of reductions.
#include <cmath>
#include <limits>

#include "ops/ops.h"

namespace mt {
namespace {

int64_t count_of(const Tensor& x, const Dims& axes) {
  int64_t count = 1;
  for (int64_t axis : axes) count *= x.shape()[static_cast<int>(axis)];
  return count;
}

Dtype floating(Dtype dtype) { return is_floating(dtype) ? dtype : Dtype::float32; }
// x in the type that its result is formed in, to be rounded once.
Tensor widened(const Tensor& x) {
  return cast(x, is_floating(x.dtype()) ? accumulator_of(x.dtype()) : Dtype::float64);
}

Tensor where(const Tensor& condition, double a, const Tensor& b) {
  return where(condition, number(a, b.device()), b);
}
Tensor is_zero(const Tensor& x) { return equal(x, number(0, x.device())); }

// x^p with the gradient 0 where x is 0, which is what norms and deviations want there.
Tensor root(const Tensor& x, double p) {
  Tensor zero = is_zero(x), safe = where(zero, 1, x);
  return where(zero, 0, p == 0.5 ? sqrt(safe) : pow(safe, number(p, x.device())));
}

}  // namespace

Tensor var(const Tensor& x, const Dims& axes, double correction, bool keep) {
  Dtype dtype = floating(x.dtype());
  Tensor wide = widened(x);
  Dims chosen = normalize_axes(axes, x.rank(), "var");
  double freedom = static_cast<double>(count_of(x, chosen)) - correction;
  Tensor deviation = wide - mean(wide, chosen, true);
  Tensor squares = sum(square(deviation), chosen, keep);
  return cast(squares / (freedom > 0 ? freedom : std::numeric_limits<double>::quiet_NaN()), dtype);
}

Tensor standard_deviation(const Tensor& x, const Dims& axes, double correction, bool keep) {
  Dtype dtype = floating(x.dtype());
  Dims chosen = normalize_axes(axes, x.rank(), "std");
  return cast(root(var(widened(x), chosen, correction, keep), 0.5), dtype);
}

Tensor count_nonzero(const Tensor& x, const Dims& axes, bool keep) {
  return sum(cast(x, Dtype::boolean), normalize_axes(axes, x.rank(), "count_nonzero"), keep);
}

Tensor norm(const Tensor& x, const Dims& axes, double order, bool keep) {
  Dtype dtype = floating(x.dtype());
  Tensor wide = widened(x);
  Dims chosen = normalize_axes(axes, x.rank(), "norm");
  Tensor y;
  if (order == 2) {
    y = root(sum(square(wide), chosen, keep), 0.5);
  } else if (order == 1) {
    y = sum(abs(wide), chosen, keep);
  } else if (order == 0) {
    y = sum(cast(logical_not(is_zero(wide)), wide.dtype()), chosen, keep);
  } else if (std::isinf(order)) {
    y = order > 0 ? max(abs(wide), chosen, keep) : min(abs(wide), chosen, keep);
  } else if (order > 0) {
    y = root(sum(root(abs(wide), order), chosen, keep), 1 / order);
  } else {
    Tensor total = sum(pow(abs(wide), number(order, x.device())), chosen, keep);
    y = pow(total, number(1 / order, x.device()));
  }
  return cast(y, dtype);
}

}  // namespace mt
