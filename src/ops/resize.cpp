// SPDX-License-Identifier: Apache-2.0
// The last axes at other sizes, one after the other: a new element is one of the old axis, or lies
// between two. Places are fractions of integers, so that nothing is rounded before it must be.
#include <algorithm>

#include "base/error.h"
#include "ops/gather.h"
#include "ops/ops.h"

namespace mt {
namespace {

void check(const char* name, const Tensor& x, const Dims& sizes) {
  if (sizes.rank() == 0 || sizes.rank() > x.rank()) {
    fail(Code::shape, "%s: %d sizes given for %s", name, sizes.rank(),
         to_string(x.shape()).c_str());
  }
  for (int i = 0; i < sizes.rank(); ++i) {
    int64_t from = x.shape()[x.rank() - sizes.rank() + i], to = sizes[i], most = 0;
    if (from < 1 || to < 1) {
      fail(Code::shape, "%s: %s to %s: no size may be below 1", name, to_string(x.shape()).c_str(),
           to_string(sizes).c_str());
    }
    if (__builtin_mul_overflow(from, to, &most) || most > INT64_MAX / 4) {
      fail(Code::shape, "%s: %s to %s is too large to address", name, to_string(x.shape()).c_str(),
           to_string(sizes).c_str());
    }
  }
}

Tensor whole(int64_t value, const Tensor& x) { return integer_number(value, x.device()); }

Tensor nearest(const Tensor& x, int axis, int64_t to) {
  int64_t from = x.shape()[axis];
  if (from == to) return x;
  if (to % from == 0) return repeat(x, to / from, axis);
  if (from % to == 0) return slice(x, axis, 0, to, from / to);
  Tensor place = iota({to}, Dtype::int64, x.device());
  return gather(x, axis, {floor_divide(place * whole(from, x), whole(to, x))});
}

Tensor linear(const Tensor& x, int axis, int64_t to, bool align_corners) {
  int64_t from = x.shape()[axis];
  if (from == to) return x;
  // New element i lies at place / unit of the old axis.
  Tensor place = iota({to}, Dtype::int64, x.device());
  int64_t unit = align_corners ? std::max<int64_t>(to - 1, 1) : 2 * to;
  if (align_corners) {
    place = place * whole(from - 1, x);
  } else {
    place = maximum(place * whole(2 * from, x) + whole(from - to, x), whole(0, x));
    place = minimum(place, whole((from - 1) * unit, x));
  }
  Tensor below = floor_divide(place, whole(unit, x));
  Tensor above = minimum(below + whole(1, x), whole(from - 1, x));
  Tensor part = cast(place - below * whole(unit, x), x.dtype()) / static_cast<double>(unit);
  Shape column = Shape::filled(x.rank() - axis, 1);
  column[0] = to;
  part = reshape(part, column);
  return gather(x, axis, {below}) * (1.0 - part) + gather(x, axis, {above}) * part;
}

}  // namespace

Tensor resize_nearest(const Tensor& x, const Dims& sizes) {
  check("resize_nearest", x, sizes);
  Tensor y = x;
  for (int i = 0; i < sizes.rank(); ++i) y = nearest(y, x.rank() - sizes.rank() + i, sizes[i]);
  return y;
}

Tensor resize_linear(const Tensor& x, const Dims& sizes, bool align_corners) {
  check("resize_linear", x, sizes);
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "resize_linear: needs floats, got %s", name_of(x.dtype()));
  }
  Tensor y = cast(x, accumulator_of(x.dtype()));
  for (int i = 0; i < sizes.rank(); ++i) {
    y = linear(y, x.rank() - sizes.rank() + i, sizes[i], align_corners);
  }
  return cast(y, x.dtype());
}

}  // namespace mt
