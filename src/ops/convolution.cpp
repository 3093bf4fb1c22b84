// SPDX-License-Identifier: Apache-2.0
// Convolution as a contraction over sliding windows, which are views: nothing of the windows' size
// is ever stored, forward or backward.
//
// Three operators are closed under differentiation. With windows along x, y = convolve(x, w) is
// linear in both; its transposes are dx = convolve_transpose(dy, w), which is also the transposed
// convolution, and dw = convolve_weight(x, dy); and the transposes of those are again among the
// three. Each node's inputs are the two operands as the contraction reads them, which take no part
// in gradients, and then the operands themselves, which do.
#include <algorithm>

#include "base/error.h"
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
Attributes encode(std::initializer_list<int64_t> counts, const Geometry& g, bool filtered) {
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

// x [n, c, length...], w [o, c / groups, kernel...] -> y [n, o, positions...]
Tensor convolve(const Tensor& x, const Tensor& w, const Geometry& g) {
  Tensor a, b;
  const int64_t n = x.shape()[0], o = w.shape()[0];
  const int64_t positions = element_count(spatial({}, g.positions, g.axes));
  const int64_t kernel = element_count(spatial({}, g.kernel, g.axes));
  const int64_t outputs = outputs_beside(g, o, 1, positions, w.shape()[1] * kernel);
  {
    GradientMode none(false);
    a = repeat_for_each(split_groups(with_outputs(w, 0, outputs), 0, g.groups), n);
    b = reorder(windows(x, g), {{0, 2}, {3, g.axes}, {2, 1}, {3 + g.axes, g.axes}});
  }
  Shape shape = spatial({n, g.groups, outputs / g.groups}, g.positions, g.axes);
  const bool filtered = filters_minimally(g, x, o / g.groups, w.shape()[1], g.positions);
  return only_outputs(join_groups(record(convolve_op, x.dtype(), shape, {a, b, x, w},
                                         encode({2, 1, g.axes, 1 + g.axes}, g, filtered)),
                                  1),
                      o);
}

// Of a kernel that is read backwards and across, each tile would pick the elements one by one. Of
// so many channels it is put in order before.
constexpr int64_t fewest_copied = 16;

// y [n, o, positions...], w [o, c / groups, kernel...] -> x [n, c, length...]
Tensor convolve_transpose(const Tensor& y, const Tensor& w, const Geometry& g) {
  if (std::count(g.length, g.length + g.axes, 0) > 0) {  // y came from padding alone
    return full(spatial({y.shape()[0], w.shape()[1] * g.groups}, g.length, g.axes), 0, y.dtype(),
                y.device());
  }
  if (pays_phases(g, w.shape()[1])) return transpose_by_phases(y, w, g, convolve_transpose);
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
  Shape shape{y.shape()[0], g.groups, outputs};
  for (int i = 0; i < g.axes; ++i) shape.push_back(Phases(g, i).stride);
  for (int i = 0; i < g.axes; ++i) shape.push_back(Phases(g, i).count);
  {
    GradientMode none(false);
    Tensor kernel = transposed_kernel(with_outputs(w, 1, outputs), g);
    if (!filtered && taps > 1 && c >= fewest_copied) kernel = contiguous(kernel);
    a = repeat_for_each(kernel, y.shape()[0]);
    b = reorder(transposed_windows(y, g), {{0, 2}, {3, g.axes}, {2, 1}, {3 + g.axes, g.axes}});
  }
  return only_outputs(join_phases(record(convolve_transpose_op, y.dtype(), shape, {a, b, y, w},
                                         encode({2, 1 + g.axes, g.axes, 1 + g.axes}, g, filtered)),
                                  g),
                      c * g.groups);
}

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
  Tensor whole = first_outputs(join_groups(dy, 1), w.shape()[0]);
  if (x.requires_gradient()) gradients[2] = convolve_transpose(whole, w, g);
  if (w.requires_gradient()) gradients[3] = convolve_weight(x, whole, g);
}
void convolve_transpose_gradient(const Node& node, const Tensor& dx, Tensor* gradients) {
  Geometry g = decode(node);
  const Tensor &y = node.inputs[2], &w = node.inputs[3];
  Tensor whole = first_outputs(join_phases(dx, g), w.shape()[1] * g.groups);
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

// How far `count` steps reach. No axis is so long that a few of these could not be added up.
int64_t reach(const char* name, int64_t count, int64_t step) {
  int64_t result;
  if (__builtin_mul_overflow(count, step, &result) || result > INT64_MAX / 8) {
    fail(Code::shape, "%s: %lld steps of %lld are too long for an axis", name,
         static_cast<long long>(count), static_cast<long long>(step));
  }
  return result;
}

// What a user gave, checked; x has `in` channels and w's first axis has `out`.
struct Call {
  const char* name;
  Tensor x, w;
  Geometry g;
};
Call check(const char* name, const Tensor& x, const Tensor& w, const Convolution& how) {
  Call call{name, x, w, {}};
  std::string shapes = to_string(x.shape()) + " with weight " + to_string(w.shape());
  Geometry& g = call.g;
  g.axes = how.stride.rank();
  g.groups = how.groups;
  if (x.rank() != g.axes + 2 || w.rank() != g.axes + 2) {
    fail(Code::shape, "%s: %s: both need %d dimensions", name, shapes.c_str(), g.axes + 2);
  }
  Dtype dtype = promote(x.dtype(), w.dtype(), name);
  if (!is_floating(dtype)) {
    fail(Code::dtype, "%s: needs floats, got %s and %s", name, name_of(x.dtype()),
         name_of(w.dtype()));
  }
  call.x = cast(x, dtype);
  call.w = cast(w, dtype);
  if (g.groups < 1) {
    fail(Code::invalid, "%s: groups is %lld", name, static_cast<long long>(g.groups));
  }
  for (int i = 0; i < g.axes; ++i) {
    g.stride[i] = how.stride[i];
    g.padding[i] = how.padding[i];
    g.dilation[i] = how.dilation[i];
    g.kernel[i] = w.shape()[2 + i];
    constexpr int64_t most = int64_t{1} << 31;  // what is computed from these fits
    if (g.stride[i] < 1 || g.padding[i] < 0 || g.dilation[i] < 1 ||
        std::max({g.stride[i], g.padding[i], g.dilation[i]}) > most) {
      fail(Code::invalid, "%s: stride %s, padding %s and dilation %s cannot be", name,
           to_string(how.stride).c_str(), to_string(how.padding).c_str(),
           to_string(how.dilation).c_str());
    }
    if (g.kernel[i] < 1) fail(Code::shape, "%s: %s: the kernel is empty", name, shapes.c_str());
  }
  return call;
}

Tensor add_bias(const Call& call, const Tensor& y, const Tensor& bias) {
  if (!bias) return y;
  if (bias.rank() != 1 || bias.shape()[0] != y.shape()[1]) {
    fail(Code::shape, "%s: bias %s: must be [%lld]", call.name, to_string(bias.shape()).c_str(),
         static_cast<long long>(y.shape()[1]));
  }
  Shape shape = Shape::filled(y.rank() - 1, 1);
  shape[0] = bias.shape()[0];
  return y + reshape(bias, shape);
}

constexpr const char* names[2][most_spatial_axes] = {
    {"conv1d", "conv2d", "conv3d"}, {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}};

}  // namespace

Precision convolution_precision(const Op& op, const Attributes& attributes) {
  const bool of_weight = &op == &convolve_weight_op;
  const bool may = of_weight || &op == &convolve_op || &op == &convolve_transpose_op;
  if (!may || !attributes[attributes.size() - 1]) return Precision::strict;
  return of_weight ? minimal_filtering_of_weight : minimal_filtering;
}

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Convolution& how) {
  if (how.same) return same_convolution(x, weight, bias, how);
  Call call = check(names[0][how.stride.rank() - 1], x, weight, how);
  Geometry& g = call.g;
  int64_t channels = x.shape()[1], outputs = weight.shape()[0];
  if (channels % g.groups || outputs % g.groups || weight.shape()[1] != channels / g.groups) {
    fail(Code::shape,
         "%s: %s with weight %s in %lld groups: weight must be [out, in / groups, ...]", call.name,
         to_string(x.shape()).c_str(), to_string(weight.shape()).c_str(),
         static_cast<long long>(g.groups));
  }
  for (int i = 0; i < g.axes; ++i) {
    g.length[i] = x.shape()[2 + i];
    int64_t kernel = reach(call.name, g.kernel[i] - 1, g.dilation[i]);
    int64_t room = g.length[i] + 2 * g.padding[i] - kernel - 1;
    if (room < 0) {
      fail(Code::shape,
           "%s: %s with weight %s, padding %s, dilation %s: the kernel is larger than "
           "the padded input",
           call.name, to_string(x.shape()).c_str(), to_string(weight.shape()).c_str(),
           to_string(how.padding).c_str(), to_string(how.dilation).c_str());
    }
    g.positions[i] = room / g.stride[i] + 1;
  }
  return add_bias(call, convolve(call.x, call.w, g), bias);
}

Tensor convolution_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Convolution& how) {
  Call call = check(names[1][how.stride.rank() - 1], x, weight, how);
  if (how.same) fail(Code::invalid, "%s: no padding keeps the size", call.name);
  Geometry& g = call.g;
  if (x.shape()[1] % g.groups || weight.shape()[0] != x.shape()[1]) {
    fail(Code::shape,
         "%s: %s with weight %s in %lld groups: weight must be [in, out / groups, ...]", call.name,
         to_string(x.shape()).c_str(), to_string(weight.shape()).c_str(),
         static_cast<long long>(g.groups));
  }
  for (int i = 0; i < g.axes; ++i) {
    int64_t extra = how.output_padding[i];
    if (extra < 0 || (extra >= g.stride[i] && extra >= g.dilation[i])) {
      fail(Code::invalid, "%s: output_padding %lld must be less than stride %lld or dilation %lld",
           call.name, static_cast<long long>(extra), static_cast<long long>(g.stride[i]),
           static_cast<long long>(g.dilation[i]));
    }
    g.positions[i] = x.shape()[2 + i];
    g.length[i] = reach(call.name, g.positions[i] - 1, g.stride[i]) - 2 * g.padding[i] +
                  reach(call.name, g.kernel[i] - 1, g.dilation[i]) + extra + 1;
    if (g.positions[i] < 1 || g.length[i] < 1) {
      fail(Code::shape, "%s: %s with weight %s and padding %s leaves nothing", call.name,
           to_string(x.shape()).c_str(), to_string(weight.shape()).c_str(),
           to_string(how.padding).c_str());
    }
  }
  return add_bias(call, convolve_transpose(call.x, call.w, g), bias);
}

}  // namespace mt
