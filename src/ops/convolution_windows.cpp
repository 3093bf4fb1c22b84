// SPDX-License-Identifier: Apache-2.0
#include "ops/convolution_windows.h"

#include <algorithm>

namespace mt {

Tensor split_groups(const Tensor& x, int axis, int64_t groups) {
  Shape shape = x.shape();
  shape[axis] /= groups;
  shape.insert(axis, groups);
  return reshape(x, shape);
}
Tensor join_groups(const Tensor& x, int axis) {
  Shape shape = x.shape();
  shape[axis] *= shape[axis + 1];
  shape.erase(axis + 1);
  return reshape(x, shape);
}

Tensor windows(const Tensor& x, const ConvolutionGeometry& g) {
  int first = 3;
  Shape shape = x.shape();
  Dims starts = Dims::filled(x.rank(), 0), steps = Dims::filled(x.rank(), 1);
  for (int i = 0; i < g.axes; ++i) {
    starts[2 + i] = g.padding[i];
    shape[2 + i] += 2 * g.padding[i];
  }
  Tensor result = split_groups(place(x, shape, starts, steps, 0), 1, g.groups);
  for (int i = 0; i < g.axes; ++i) {
    result = window(result, first + i, g.kernel[i], g.stride[i], g.dilation[i]);
    result = slice(result, first + i, 0, g.positions[i], 1);
  }
  return result;
}

Phases::Phases(const ConvolutionGeometry& g, int i) : dilation(g.dilation[i]) {
  const bool dilated = dilation > 1;
  const int64_t end = g.padding[i] + g.length[i];
  // What would begin beyond x is no phase.
  stride = dilated ? 1 : std::min(g.stride[i], std::max<int64_t>(end, 1));
  apart = dilated ? g.stride[i] : 1;
  taps = (g.kernel[i] + stride - 1) / stride;
  first = g.padding[i] / stride;
  count = (end - 1) / stride - first + 1;
}

Tensor transposed_windows(const Tensor& y, const ConvolutionGeometry& g) {
  Tensor result = y;
  Shape shape = y.shape();
  Dims starts = Dims::filled(y.rank(), 0), steps = Dims::filled(y.rank(), 1);
  for (int i = 0; i < g.axes; ++i) {
    const Phases phases(g, i);
    const int axis = 2 + i;
    const int64_t positions = y.shape()[axis], apart = phases.apart;
    shape[axis] = phases.count + phases.reach();
    const int64_t origin = phases.reach() - phases.first;  // of y among the windows' elements
    const int64_t skipped = origin < 0 ? std::min((-origin + apart - 1) / apart, positions) : 0;
    starts[axis] = std::clamp<int64_t>(origin + skipped * apart, 0, shape[axis]);
    steps[axis] = apart;
    const int64_t fitting = (shape[axis] - starts[axis] + apart - 1) / apart;
    const int64_t count = std::min(positions - skipped, fitting);
    result = slice(result, axis, skipped, count, 1);
    if (count == 0) starts[axis] = 0;
  }
  result = split_groups(place(result, shape, starts, steps, 0), 1, g.groups);
  for (int i = 0; i < g.axes; ++i) {
    const Phases phases(g, i);
    result = window(result, 3 + i, phases.taps, 1, phases.dilation);
  }
  return result;
}

Tensor transposed_kernel(const Tensor& w, const ConvolutionGeometry& g) {
  Shape whole = w.shape(), parted(w.shape().data(), 2);
  const Dims starts = Dims::filled(w.rank(), 0), steps = Dims::filled(w.rank(), 1);
  for (int i = 0; i < g.axes; ++i) {
    const Phases phases(g, i);
    whole[2 + i] = phases.taps * phases.stride;
    parted.push_back(phases.taps);
    parted.push_back(phases.stride);
  }
  Tensor result = split_groups(reshape(place(w, whole, starts, steps, 0), parted), 0, g.groups);
  Dims order{0, 2};
  for (int i = 0; i < g.axes; ++i) {
    result = flip(result, {3 + 2 * i});
    order.push_back(4 + 2 * i);
  }
  order.push_back(1);
  for (int i = 0; i < g.axes; ++i) order.push_back(3 + 2 * i);
  return permute(result, order);
}

Tensor interleave(const Tensor& phased, int axes) {
  const Shape& sizes = phased.shape();
  Shape shape{sizes[0], sizes[1]};
  Dims order{0, 1};
  for (int i = 0; i < axes; ++i) {
    order.push_back(2 + axes + i);
    order.push_back(2 + i);
    shape.push_back(sizes[2 + i] * sizes[2 + axes + i]);
  }
  return reshape(permute(phased, order), shape);
}

Tensor join_phases(const Tensor& phased, const ConvolutionGeometry& g) {
  Tensor result = interleave(join_groups(phased, 1), g.axes);
  for (int i = 0; i < g.axes; ++i) {
    const Phases phases(g, i);
    const int64_t start = g.padding[i] - phases.first * phases.stride;
    result = slice(result, 2 + i, start, g.length[i], 1);
  }
  return result;
}

}  // namespace mt
