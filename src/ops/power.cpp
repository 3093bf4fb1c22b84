// SPDX-License-Identifier: Apache-2.0
#include "ops/power.h"

#include <limits>

#include "ops/ops.h"

namespace mt {
namespace {

// x as its roots take it: that of -0 is that of 0, and that of -infinity is that of infinity.
Tensor radicand(const Tensor& x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Tensor lowest = equal(x, number(-infinity, x.device()));
  return where(lowest, number(infinity, x.device()), x + 0.0);
}

}  // namespace

Tensor power_of_number(const Tensor& x, double exponent) {
  if (exponent == 2) return square(x);
  if (exponent == 3 || exponent == 4 || exponent == -2) {
    // 16-bit floats are rounded once.
    Tensor wide = is_floating(x.dtype()) && size_of(x.dtype()) == 2 ? cast(x, Dtype::float32) : x;
    if (exponent == 3) return cast(square(wide) * wide, x.dtype());
    // The square of the reciprocal, as the other way round the square may overflow.
    return cast(square(exponent == 4 ? square(wide) : reciprocal(wide)), x.dtype());
  }
  if (exponent == -1) return reciprocal(x);
  if (exponent == 0.5) return sqrt(radicand(x));
  if (exponent == -0.5) return rsqrt(radicand(x));
  return nullptr;
}

}  // namespace mt
