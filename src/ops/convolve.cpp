// SPDX-License-Identifier: Apache-2.0
// Convolution as a contraction over sliding windows, which are views: nothing of the windows' size
// is ever stored, forward or backward.
//
// Three operators are closed under differentiation. With windows along x, y = convolve(x, w) is
// linear in both; its transposes are dx = convolve_transpose(dy, w), which is also the transposed
// convolution, and dw = convolve_weight(x, dy); and the transposes of those are again among the
// three. Each node's inputs are the two operands as the contraction reads them, which take no part
// in gradients, and then the operands themselves, which do.
#include "ops/convolve.h"

#include <algorithm>
#include <array>

#include "base/rounding.h"
#include "graph/modes.h"
#include "ops/convolution_phases.h"
#include "ops/convolution_windows.h"
#include "ops/minimal_filtering.h"
#include "ops/ops.h"
#include "ops/order.h"
#include "ops/view.h"

namespace mt {
namespace {

using Geometry = ConvolutionGeometry;

// The counts that every contraction has, then the geometry, then whether it is minimally filtered.
Attributes encode(const std::array<int64_t, 4>& counts, const Geometry& g, bool filtered) {
  Attributes result;
  for (int64_t count : counts) result.push_back(count);
  result.push_back(g.axes);
  result.push_back(g.groups);
  for (int i = 0; i < g.axes; ++i) {
    for (int64_t value :
         {g.stride[i], g.padding[i], g.dilation[i], g.kernel[i], g.length[i], g.positions[i]}) {
      result.push_back(value);
    }
  }
  result.push_back(filtered);
  return result;
}
Geometry decode(const Node& node) {
  const int64_t* at = node.attributes.data() + 4;
  Geometry g;
  g.axes = static_cast<int>(*at++);
  g.groups = *at++;
  for (int i = 0; i < g.axes; ++i) {
    for (int64_t* value : {&g.stride[i], &g.padding[i], &g.dilation[i], &g.kernel[i], &g.length[i],
                           &g.positions[i]}) {
      *value = *at++;
    }
  }
  return g;
}

// The order of axes that takes those in `parts`, each a first axis and a count, one after another.
Tensor reorder(const Tensor& x, std::initializer_list<std::pair<int, int>> parts) {
  Dims order;
  for (auto [first, count] : parts) {
    for (int i = 0; i < count; ++i) order.push_back(first + i);
  }
  return permute(x, order);
}

Tensor repeat_for_each(const Tensor& w, int64_t n) {
  Shape shape = w.shape();
  shape.insert(0, n);
  return expand(w, shape);
}

Shape spatial(std::initializer_list<int64_t> leading, const int64_t* sizes, int axes) {
  Shape shape = leading;
  for (int i = 0; i < axes; ++i) shape.push_back(sizes[i]);
  return shape;
}

extern const Op convolve_op, convolve_transpose_op, convolve_weight_op;

bool can_be_filtered(const Geometry& g, Dtype dtype) {
  if (dtype != Dtype::float32 || g.axes != 2) return false;
  for (int i = 0; i < 2; ++i) {
    if (g.kernel[i] != 3 || g.stride[i] != 1 || g.dilation[i] != 1) return false;
  }
  return true;
}
// Results have so many outputs and positions in each group, and sums so many channels.
bool filters_minimally(const Geometry& g, const Tensor& images, int64_t outputs, int64_t channels,
                       const int64_t* positions) {
  return can_be_filtered(g, images.dtype()) &&
         pays_minimal_filtering(outputs, channels, images.shape()[0], positions[0], positions[1]);
}

// Sums of few outputs would be in lanes (ops/order.h), along which windows do not lie: as if there
// were more outputs, whose weights are 0, they are chains, many positions at a time.
constexpr int64_t fewest_outputs = 6;
int64_t outputs_beside(const Geometry& g, int64_t outputs, int64_t phases, int64_t positions,
                       int64_t terms) {
  auto in_lanes = [&](int64_t count) {
    return contraction_order(count * phases, positions, terms, Dtype::float32).lanes > 1;
  };
  return g.groups == 1 && in_lanes(outputs) && !in_lanes(fewest_outputs) ? fewest_outputs : outputs;
}
Tensor with_outputs(const Tensor& w, int axis, int64_t outputs) {
  if (w.shape()[axis] == outputs) return w;
  Dims after = Dims::filled(w.rank(), 0);
  after[axis] = outputs - w.shape()[axis];
  return pad(w, Dims::filled(w.rank(), 0), after, 0);
}
Tensor first_outputs(const Tensor& y, int64_t outputs) {
  return y.shape()[1] == outputs ? y : slice(y, 1, 0, outputs, 1);
}
// In memory of their own, so that a result does not keep what was computed beside it.
Tensor only_outputs(const Tensor& y, int64_t outputs) {
  return y.shape()[1] == outputs ? y : copy(first_outputs(y, outputs));
}

// Small images are columns of one product, or all of a large weight would be read for each of them.
constexpr int64_t large_weight = 256 * 1024;
bool joins_images(int64_t images, int64_t positions, int64_t outputs, int64_t terms,
                  int64_t fewest_weights = large_weight) {
  constexpr int64_t most_positions = 64;
  return images > 1 && positions <= most_positions &&
         outputs >= divide_up(fewest_weights, std::max<int64_t>(terms, 1));
}
// From so many weights on of a kernel of one element, where positions leave a fifth of vectors
// empty.
int64_t fewest_joined(int64_t kernel, int64_t positions) {
  constexpr int64_t vector = 16;
  const bool fills = 4 * round_up(positions, vector) < 5 * positions;
  return kernel > 1 || fills ? large_weight : large_weight / 4;
}
// [n, groups, c / groups, positions..., kernel...] as the second operand of a contraction: for each
// image and group the positions, or for each group those of all images.
Tensor windows_by_images(const Tensor& windows, const Geometry& g, bool joined) {
  const std::pair<int, int> positions{3, g.axes}, channels{2, 1}, kernel{3 + g.axes, g.axes};
  return joined ? reorder(windows, {{1, 1}, {0, 1}, positions, channels, kernel})
                : reorder(windows, {{0, 2}, positions, channels, kernel});
}
// Axes of the batch, of the first operand's rows, so many, of the second's, and of the sum.
std::array<int64_t, 4> counts(int rows, const Geometry& g, bool joined) {
  return {joined ? 1 : 2, rows, g.axes + joined, 1 + g.axes};
}
// What a contraction of all images together gives, in which they are at `axis`.
Tensor images_first(const Tensor& y, int axis, bool joined) {
  return joined ? move_axis(y, axis, 0) : y;
}
bool is_joined(const Node& node) { return node.attributes[0] == 1; }

}  // namespace

Tensor convolve(const Tensor& x, const Tensor& w, const Geometry& g) {
  Tensor a, b;
  const int64_t n = x.shape()[0], o = w.shape()[0];
  const int64_t positions = element_count(spatial({}, g.positions, g.axes));
  const int64_t kernel = element_count(spatial({}, g.kernel, g.axes));
  const int64_t terms = w.shape()[1] * kernel;
  const int64_t outputs = outputs_beside(g, o, 1, positions, terms);
  const bool filtered = filters_minimally(g, x, o / g.groups, w.shape()[1], g.positions);
  const bool joined = !filtered && joins_images(n, positions, outputs / g.groups, terms,
                                                fewest_joined(kernel, positions));
  {
    GradientMode none(false);
    a = split_groups(with_outputs(w, 0, outputs), 0, g.groups);
    if (!joined) a = repeat_for_each(a, n);
    b = windows_by_images(windows(x, g), g, joined);
  }
  Shape shape = spatial({g.groups, outputs / g.groups}, g.positions, g.axes);
  shape.insert(joined ? 2 : 0, n);
  const Tensor y = record(convolve_op, x.dtype(), shape, {a, b, x, w},
                          encode(counts(1, g, joined), g, filtered));
  return only_outputs(join_groups(images_first(y, 2, joined), 1), o);
}

Tensor convolve_transpose(const Tensor& y, const Tensor& w, const Geometry& g) {
  if (std::count(g.length, g.length + g.axes, 0) > 0) {  // y came from padding alone
    return full(spatial({y.shape()[0], w.shape()[1] * g.groups}, g.length, g.axes), 0, y.dtype(),
                y.device());
  }
  if (pays_phases(g, w.shape()[1])) return transpose_by_phases(y, w, g);
  Tensor a, b;
  const int64_t c = w.shape()[1];
  int64_t phases = 1, positions = 1, taps = 1;
  for (int i = 0; i < g.axes; ++i) {
    const Phases of(g, i);
    phases *= of.stride;
    positions *= of.count;
    taps *= of.taps;
  }
  const int64_t outputs = outputs_beside(g, c, phases, positions, w.shape()[0] * taps);
  const bool filtered = filters_minimally(g, y, c, w.shape()[0] / g.groups, g.length);
  const int64_t n = y.shape()[0], terms = w.shape()[0] / g.groups * taps;
  const bool joined = !filtered && joins_images(n, positions, outputs * phases, terms);
  Shape shape{g.groups, outputs};
  for (int i = 0; i < g.axes; ++i) shape.push_back(Phases(g, i).stride);
  for (int i = 0; i < g.axes; ++i) shape.push_back(Phases(g, i).count);
  shape.insert(joined ? 2 + g.axes : 0, n);
  {
    GradientMode none(false);
    a = transposed_kernel(with_outputs(w, 1, outputs), g);
    // Of a kernel that is read backwards and across, each tile would pick the elements one by one.
    constexpr int64_t fewest_copied = 16;
    if (!filtered && taps > 1 && c >= fewest_copied) a = contiguous(a);
    if (!joined) a = repeat_for_each(a, n);
    b = windows_by_images(transposed_windows(y, g), g, joined);
  }
  const Tensor x = record(convolve_transpose_op, y.dtype(), shape, {a, b, y, w},
                          encode(counts(1 + g.axes, g, joined), g, filtered));
  return only_outputs(join_phases(images_first(x, 2 + g.axes, joined), g), c * g.groups);
}

namespace {

// x [n, c, length...], y [n, o, positions...] -> w [o, c / groups, kernel...]
Tensor convolve_weight(const Tensor& x, const Tensor& y, const Geometry& g) {
  Tensor a, b;
  int64_t c = x.shape()[1], o = y.shape()[1];
  {
    GradientMode none(false);
    a = reorder(split_groups(y, 1, g.groups), {{1, 2}, {0, 1}, {3, g.axes}});
    b = reorder(windows(x, g), {{1, 2}, {3 + g.axes, g.axes}, {0, 1}, {3, g.axes}});
  }
  Shape shape = spatial({g.groups, o / g.groups, c / g.groups}, g.kernel, g.axes);
  const bool filtered = can_be_filtered(g, x.dtype()) &&
                        pays_filtering_of_weight(o / g.groups, c / g.groups, x.shape()[0],
                                                 g.positions[0], g.positions[1]);
  return join_groups(record(convolve_weight_op, x.dtype(), shape, {a, b, x, y},
                            encode({1, 1, 1 + g.axes, 1 + g.axes}, g, filtered)),
                     0);
}

void convolve_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  Geometry g = decode(node);
  const Tensor &x = node.inputs[2], &w = node.inputs[3];
  const Tensor by_images = images_first(dy, 2, is_joined(node));
  Tensor whole = first_outputs(join_groups(by_images, 1), w.shape()[0]);
  if (x.requires_gradient()) gradients[2] = convolve_transpose(whole, w, g);
  if (w.requires_gradient()) gradients[3] = convolve_weight(x, whole, g);
}
void convolve_transpose_gradient(const Node& node, const Tensor& dx, Tensor* gradients) {
  Geometry g = decode(node);
  const Tensor &y = node.inputs[2], &w = node.inputs[3];
  const Tensor by_images = images_first(dx, 2 + g.axes, is_joined(node));
  Tensor whole = first_outputs(join_phases(by_images, g), w.shape()[1] * g.groups);
  if (y.requires_gradient()) gradients[2] = convolve(whole, w, g);
  if (w.requires_gradient()) gradients[3] = convolve_weight(whole, y, g);
}
void convolve_weight_gradient(const Node& node, const Tensor& dw, Tensor* gradients) {
  Geometry g = decode(node);
  const Tensor &x = node.inputs[2], &y = node.inputs[3];
  Tensor whole = join_groups(dw, 0);
  if (x.requires_gradient()) gradients[2] = convolve_transpose(y, whole, g);
  if (y.requires_gradient()) gradients[3] = convolve(x, whole, g);
}

const Op convolve_op{.name = "convolve", .kind = OpKind::contract, .gradient = convolve_gradient};
const Op convolve_transpose_op{
    .name = "convolve_transpose",
    .kind = OpKind::contract,
    .gradient = convolve_transpose_gradient,
};
const Op convolve_weight_op{
    .name = "convolve_weight",
    .kind = OpKind::contract,
    .gradient = convolve_weight_gradient,
};

}  // namespace

Precision convolution_precision(const Op& op, const Attributes& attributes) {
  const bool of_weight = &op == &convolve_weight_op;
  const bool may = of_weight || &op == &convolve_op || &op == &convolve_transpose_op;
  if (!may || !attributes[attributes.size() - 1]) return Precision::strict;
  return of_weight ? minimal_filtering_of_weight : minimal_filtering;
}

}  // namespace mt
