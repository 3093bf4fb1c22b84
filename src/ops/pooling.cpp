// SPDX-License-Identifier: Apache-2.0
// Pooling: a reduction over each window. Windows that tile the input are a reshape of it, so that
// their gradient has nothing to add up; others are sliding-window views.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "graph/modes.h"
#include "ops/ops.h"

namespace mt {
namespace {

constexpr const char* names[2][3] = {{"max_pool1d", "max_pool2d", "max_pool3d"},
                                     {"avg_pool1d", "avg_pool2d", "avg_pool3d"}};

void check(const char* name, const Tensor& x, const Pooling& how) {
  int axes = how.size.rank();
  if (x.rank() < axes) {
    fail(Code::shape, "%s: %s: needs %d dimensions", name, to_string(x.shape()).c_str(), axes);
  }
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "%s: needs floats, got %s", name, name_of(x.dtype()));
  }
  for (int i = 0; i < axes; ++i) {
    constexpr int64_t most = int64_t{1} << 31;  // twice that and an axis fit
    if (how.size[i] < 1 || how.stride[i] < 1 || how.dilation[i] < 1 || how.padding[i] < 0 ||
        how.padding[i] > std::min(how.size[i] / 2, most)) {
      fail(Code::invalid, "%s: size %s, stride %s, padding %s and dilation %s cannot be", name,
           to_string(how.size).c_str(), to_string(how.stride).c_str(),
           to_string(how.padding).c_str(), to_string(how.dilation).c_str());
    }
    int64_t length = x.shape()[x.rank() - axes + i] + 2 * how.padding[i];
    if (length < 1 || how.size[i] - 1 > (length - 1) / how.dilation[i]) {
      fail(Code::shape, "%s: %s: windows %s with padding %s are larger than the padded input", name,
           to_string(x.shape()).c_str(), to_string(how.size).c_str(),
           to_string(how.padding).c_str());
    }
  }
}

bool tiles(const Pooling& how) {
  for (int i = 0; i < how.size.rank(); ++i) {
    if (how.padding[i] != 0) return false;
    if (how.size[i] > 1 && (how.stride[i] != how.size[i] || how.dilation[i] != 1)) return false;
    if (how.size[i] == 1 && how.stride[i] != 1) return false;
  }
  return true;
}

struct Windows {
  Tensor value;
  Dims axes;  // of the windows' elements
};

Windows windows(const Tensor& x, const Pooling& how, double fill) {
  int count = how.size.rank(), first = x.rank() - count;
  Windows result{x, {}};
  if (tiles(how)) {
    Shape shape(x.shape().data(), first);
    for (int i = 0; i < count; ++i) {
      int64_t positions = x.shape()[first + i] / how.size[i];
      result.value = slice(result.value, first + i, 0, positions * how.size[i], 1);
      shape.push_back(positions);
      result.axes.push_back(shape.rank());
      shape.push_back(how.size[i]);
    }
    result.value = reshape(result.value, shape);
    return result;
  }
  Shape padded = x.shape();
  Dims starts = Dims::filled(x.rank(), 0), steps = Dims::filled(x.rank(), 1);
  for (int i = 0; i < count; ++i) {
    starts[first + i] = how.padding[i];
    padded[first + i] += 2 * how.padding[i];
  }
  result.value = place(x, padded, starts, steps, fill);
  for (int i = 0; i < count; ++i) {
    result.value = window(result.value, first + i, how.size[i], how.stride[i], how.dilation[i]);
    result.axes.push_back(x.rank() + i);
  }
  return result;
}

// How many elements of the window at each position lie in the input, along one axis.
Tensor inside(const Pooling& how, int axis, int64_t length, Dtype dtype, Device& device) {
  GradientMode none(false);
  Tensor ones = full({length}, 1, dtype, device);
  Tensor padded = place(ones, {length + 2 * how.padding[axis]}, {how.padding[axis]}, {1}, 0);
  return sum(window(padded, 0, how.size[axis], how.stride[axis], how.dilation[axis]), {1});
}

}  // namespace

Tensor max_pool(const Tensor& x, const Pooling& how) {
  check(names[0][how.size.rank() - 1], x, how);
  Windows parts = windows(x, how, -std::numeric_limits<double>::infinity());
  return max(parts.value, parts.axes);
}

Tensor avg_pool(const Tensor& x, const Pooling& how) {
  check(names[1][how.size.rank() - 1], x, how);
  Windows parts = windows(x, how, 0);
  bool padded = false;
  for (int64_t padding : how.padding) padded |= padding != 0;
  if (!how.exclude_padding || !padded) return mean(parts.value, parts.axes);
  Dtype wide = accumulator_of(x.dtype());
  Tensor total = sum(cast(parts.value, wide), parts.axes);
  int axes = how.size.rank();
  for (int i = 0; i < axes; ++i) {
    Tensor count = inside(how, i, x.shape()[x.rank() - axes + i], wide, x.device());
    Shape shape = Shape::filled(axes - i, 1);
    shape[0] = count.shape()[0];
    total = total / reshape(count, shape);
  }
  return cast(total, x.dtype());
}

}  // namespace mt
