// SPDX-License-Identifier: Apache-2.0
// How convolutions read their operands: as windows, which are views, and a transposed convolution's
// result as phases.
#pragma once

#include "ops/ops.h"

namespace mt {

constexpr int most_spatial_axes = 3;

struct ConvolutionGeometry {
  using Sizes = int64_t[most_spatial_axes];
  int axes = 0;  // spatial ones
  int64_t groups = 1;
  Sizes stride, padding, dilation;
  Sizes kernel, length, positions;  // of w, x and y
};

// [a, b c, rest...] -> [a, b, c, rest...] at `axis`, with b groups.
Tensor split_groups(const Tensor& x, int axis, int64_t groups);
Tensor join_groups(const Tensor& x, int axis);

// x [n, c, length...], zeros around it, as windows
// [n, groups, c / groups, positions..., kernel...].
Tensor windows(const Tensor& x, const ConvolutionGeometry& g);

// How an axis of x is made from y: in padded x, position stride * q + r, of phase r, gets y[q - t]
// times the kernel's element stride * t + r, for each tap t. So each phase is a convolution of y as
// it is with every stride-th element of the kernel, and all phases are one, with as many times the
// channels. The kernel is filled up with zeros to whole taps, of which infinities in y make NaN. A
// dilated kernel has one phase, over y with zeros between its elements.
struct Phases {
  int64_t stride;  // how many there are
  int64_t apart;   // the elements of y
  int64_t taps, dilation;
  int64_t first, count;  // positions q that reach x without its padding

  Phases(const ConvolutionGeometry& g, int i);
  int64_t reach() const { return dilation * (taps - 1); }
};

// y [n, o, positions...] as windows [n, groups, o / groups, count..., taps...], with zeros around
// it, or elements cut away, as the positions that are to be made need it.
Tensor transposed_windows(const Tensor& y, const ConvolutionGeometry& g);
// w [o, c / groups, kernel...] as [groups, c / groups, phases..., o / groups, taps...], the taps
// in the order in which the windows' elements come: the last first.
Tensor transposed_kernel(const Tensor& w, const ConvolutionGeometry& g);
// [n, c, phases..., count...] -> [n, c, phases * count...], so many axes of each
Tensor interleave(const Tensor& phased, int axes);
// [n, groups, c / groups, phases..., count...] -> x [n, c, length...]
Tensor join_phases(const Tensor& phased, const ConvolutionGeometry& g);

}  // namespace mt
