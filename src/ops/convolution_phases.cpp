// SPDX-License-Identifier: Apache-2.0
#include "ops/convolution_phases.h"

#include <algorithm>
#include <vector>

#include "base/rounding.h"
#include "ops/convolve.h"

namespace mt {
namespace {

// More phases, or those of fewer channels, are too little each; as are these channels of images so
// small.
constexpr int64_t most_phases = 16, fewest_channels = 16, few_channels = 32, few_positions = 16;

// What begins beyond x's end is no phase.
int64_t phases_along(const ConvolutionGeometry& g, int i) {
  return std::min(g.stride[i], g.length[i]);
}
// Of each phase; the last may lie beyond x's end.
int64_t positions_along(const ConvolutionGeometry& g, int i) {
  return divide_up(g.length[i], g.stride[i]);
}
// Whether the kernel reaches no more than one along each axis.
bool is_single(const ConvolutionGeometry& g) {
  bool single = true;
  for (int i = 0; i < g.axes; ++i) single &= std::min(g.kernel[i], g.stride[i]) == 1;
  return single;
}
// The first element of the kernel that reaches a phase, which it has or not.
int64_t first_element(const ConvolutionGeometry& g, int i, int64_t offset) {
  return (offset + g.padding[i]) % g.stride[i];
}

// Positions from `offset` on, [n, c, positions along each axis...].
Tensor one_phase(const Tensor& y, const Tensor& w, const ConvolutionGeometry& g,
                 const Dims& offset) {
  ConvolutionGeometry own = g;
  Tensor kernel = w;
  for (int i = 0; i < g.axes; ++i) {
    const int64_t first = first_element(g, i, offset[i]);
    own.stride[i] = 1;
    own.padding[i] = (offset[i] + g.padding[i]) / g.stride[i];
    own.kernel[i] = divide_up(g.kernel[i] - first, g.stride[i]);
    // What y reaches beyond x's end must be no more than its padding, which is the same on both
    // sides.
    const int64_t reached = g.positions[i] + own.kernel[i] - 1 - 2 * own.padding[i];
    own.length[i] = std::max(positions_along(g, i), reached);
    kernel = slice(kernel, 2 + i, first, own.kernel[i], g.stride[i]);
  }
  Tensor x = convolve_transpose(y, kernel, own);
  for (int i = 0; i < g.axes; ++i) x = slice(x, 2 + i, 0, positions_along(g, i), 1);
  return x;
}

// [phases, n, c, positions...] -> x
Tensor join(const Tensor& phases, const ConvolutionGeometry& g) {
  Shape parted;
  Dims order{g.axes, g.axes + 1};
  for (int i = 0; i < g.axes; ++i) parted.push_back(phases_along(g, i));
  for (int i = 1; i < phases.rank(); ++i) parted.push_back(phases.shape()[i]);
  for (int i = 0; i < g.axes; ++i) order.push_back(i);
  for (int i = 0; i < g.axes; ++i) order.push_back(g.axes + 2 + i);
  Tensor x = interleave(permute(reshape(phases, parted), order), g.axes);
  for (int i = 0; i < g.axes; ++i) x = slice(x, 2 + i, 0, g.length[i], 1);
  return x;
}

}  // namespace

bool pays_phases(const ConvolutionGeometry& g, int64_t channels) {
  bool uneven = false;
  int64_t phases = 1, positions = 1;
  for (int i = 0; i < g.axes; ++i) {
    if (g.stride[i] > 1 && g.dilation[i] > 1) return false;
    uneven |= g.kernel[i] % g.stride[i] != 0;
    phases *= std::min(phases_along(g, i), most_phases + 1);
    positions *= positions_along(g, i);
  }
  if (!uneven || is_single(g)) return uneven;
  const bool few = channels < few_channels && positions <= few_positions;
  return phases <= most_phases && channels >= fewest_channels && !few;
}

Tensor transpose_by_phases(const Tensor& y, const Tensor& w, const ConvolutionGeometry& g) {
  Shape shape{y.shape()[0], w.shape()[1] * g.groups}, part = shape;
  for (int i = 0; i < g.axes; ++i) {
    shape.push_back(g.length[i]);
    part.push_back(positions_along(g, i));
  }
  Dims offset = Dims::filled(g.axes, 0);
  if (is_single(g)) {
    Dims starts{0, 0}, steps{1, 1};
    for (int i = 0; i < g.axes; ++i) {
      offset[i] = (g.stride[i] - first_element(g, i, 0)) % g.stride[i];
      if (offset[i] >= g.length[i]) return full(shape, 0, y.dtype(), y.device());
      starts.push_back(offset[i]);
      steps.push_back(g.stride[i]);
    }
    Tensor x = one_phase(y, w, g, offset);
    for (int i = 0; i < g.axes; ++i) {
      x = slice(x, 2 + i, 0, divide_up(g.length[i] - offset[i], g.stride[i]), 1);
    }
    return place(x, shape, starts, steps, 0);
  }
  std::vector<Tensor> parts;
  for (int axis = 0; axis >= 0;) {
    bool is_reached = true;
    for (int i = 0; i < g.axes; ++i) is_reached &= first_element(g, i, offset[i]) < g.kernel[i];
    parts.push_back(is_reached ? one_phase(y, w, g, offset) : full(part, 0, y.dtype(), y.device()));
    for (axis = g.axes - 1; axis >= 0 && ++offset[axis] == phases_along(g, axis); --axis) {
      offset[axis] = 0;
    }
  }
  return join(stack(parts, 0), g);
}

}  // namespace mt
