// SPDX-License-Identifier: Apache-2.0
// Convolutions as a user asks for them, checked.
#include <algorithm>

#include "base/error.h"
#include "ops/convolve.h"
#include "ops/ops.h"

namespace mt {
namespace {

using Geometry = ConvolutionGeometry;

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
