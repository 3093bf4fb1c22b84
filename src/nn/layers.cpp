// SPDX-License-Identifier: Apache-2.0
#include "nn/layers.h"

#include <algorithm>

#include "nn/new_layer.h"

namespace mt {

Layer& add_linear(Parameters& parameters, const std::string& name, int64_t in, int64_t out,
                  bool bias) {
  check_positive(name, "in_features", in);
  check_positive(name, "out_features", out);
  NewTensors tensors(parameters, name);
  tensors.add_uniform("weight", {out, in}, in);
  if (bias) tensors.add_uniform("bias", {out}, in);
  return add_applied(parameters, tensors.finish(), [bias](const Tensor& x, const Bindings& of) {
    return linear(x, of[0]->value(), value_of(bias ? of[1] : nullptr));
  });
}

Layer& add_convolution(Parameters& parameters, const std::string& name, int64_t in, int64_t out,
                       const Dims& kernel, const Convolution& how, bool transposed, bool bias) {
  check_positive(name, "in_channels", in);
  check_positive(name, "out_channels", out);
  check_positive(name, "groups", how.groups);
  for (int64_t size : kernel) check_positive(name, "the kernel's size", size);
  if (in % how.groups || out % how.groups) {
    fail(Code::invalid, "layer \"%s\": %lld groups do not divide %lld and %lld channels",
         name.c_str(), static_cast<long long>(how.groups), static_cast<long long>(in),
         static_cast<long long>(out));
  }
  constexpr int64_t most = int64_t{1} << 31;  // of what is applied
  for (int i = 0; i < kernel.rank(); ++i) {
    const int64_t stride = how.stride[i], dilation = how.dilation[i];
    const int64_t padding = how.padding[i], extra = how.output_padding[i];
    check_whole(name, "stride", stride >= 1 && stride <= most, stride);
    check_whole(name, "dilation", dilation >= 1 && dilation <= most, dilation);
    check_whole(name, "padding", padding >= 0 && padding <= most, padding);
    if (!transposed) continue;
    check_whole(name, "output_padding", extra >= 0 && extra < std::max(stride, dilation), extra);
  }
  for (int64_t step : how.stride) {
    if (how.same && (transposed || step != 1)) {
      fail(Code::invalid, "layer \"%s\": padding keeps the size of convolutions of stride 1 alone",
           name.c_str());
    }
  }
  Shape shape = transposed ? Shape{in, out / how.groups} : Shape{out, in / how.groups};
  for (int64_t size : kernel) shape.push_back(size);
  check_shape(shape, size_of(parameters.dtype), "convolution layer");
  int64_t fan_in = element_count(shape) / shape[0];
  NewTensors tensors(parameters, name);
  tensors.add_uniform("weight", shape, fan_in);
  if (bias) tensors.add_uniform("bias", {out}, fan_in);
  return add_applied(parameters, tensors.finish(),
                     [how, transposed, bias](const Tensor& x, const Bindings& of) {
                       Tensor weight = of[0]->value(), offset = value_of(bias ? of[1] : nullptr);
                       return transposed ? convolution_transpose(x, weight, offset, how)
                                         : convolution(x, weight, offset, how);
                     });
}

namespace {

// Of the axes that a norm is over.
void check_sizes(const std::string& name, const Shape& shape) {
  check_positive(name, "the number of axes", shape.rank());
  for (int64_t size : shape) check_positive(name, "a size", size);
}

}  // namespace

Layer& add_layer_norm(Parameters& parameters, const std::string& name, const Shape& shape,
                      double epsilon) {
  check_sizes(name, shape);
  check_epsilon(name, epsilon);
  NewTensors tensors(parameters, name);
  tensors.add_full("weight", shape, 1);
  tensors.add_full("bias", shape, 0);
  int naxes = shape.rank();
  return add_applied(parameters, tensors.finish(),
                     [naxes, epsilon](const Tensor& x, const Bindings& of) {
                       return layer_norm(x, naxes, of[0]->value(), of[1]->value(), epsilon);
                     });
}

Layer& add_rms_norm(Parameters& parameters, const std::string& name, const Shape& shape,
                    double epsilon) {
  check_sizes(name, shape);
  check_epsilon(name, epsilon);
  NewTensors tensors(parameters, name);
  tensors.add_full("weight", shape, 1);
  int naxes = shape.rank();
  return add_applied(parameters, tensors.finish(),
                     [naxes, epsilon](const Tensor& x, const Bindings& of) {
                       return rms_norm(x, naxes, of[0]->value(), epsilon);
                     });
}

Layer& add_group_norm(Parameters& parameters, const std::string& name, int64_t groups,
                      int64_t channels, double epsilon) {
  check_positive(name, "groups", groups);
  check_positive(name, "channels", channels);
  check_epsilon(name, epsilon);
  if (channels % groups) {
    fail(Code::invalid, "layer \"%s\": %lld groups do not divide %lld channels", name.c_str(),
         static_cast<long long>(groups), static_cast<long long>(channels));
  }
  NewTensors tensors(parameters, name);
  tensors.add_full("weight", {channels}, 1);
  tensors.add_full("bias", {channels}, 0);
  return add_applied(parameters, tensors.finish(),
                     [groups, epsilon](const Tensor& x, const Bindings& of) {
                       return group_norm(x, groups, of[0]->value(), of[1]->value(), epsilon);
                     });
}

Layer& add_batch_norm(Parameters& parameters, const std::string& name, int64_t channels,
                      double momentum, double epsilon) {
  check_positive(name, "channels", channels);
  check_number(name, "momentum", momentum >= 0 && momentum <= 1, momentum);
  check_epsilon(name, epsilon);
  NewTensors tensors(parameters, name);
  tensors.add_full("weight", {channels}, 1);
  tensors.add_full("bias", {channels}, 0);
  tensors.add_full("running_mean", {channels}, 0, true);
  tensors.add_full("running_var", {channels}, 1, true);
  return add_applied(parameters, tensors.finish(),
                     [&parameters, momentum, epsilon](const Tensor& x, const Bindings& of) {
                       const bool training = parameters.training.on();
                       BatchNorm result =
                           batch_norm(x, of[0]->value(), of[1]->value(), of[2]->value(),
                                      of[3]->value(), training, momentum, epsilon);
                       if (training) {
                         of[2]->bind(std::move(result.running_mean));
                         of[3]->bind(std::move(result.running_var));
                       }
                       return result.y;
                     });
}

Layer& add_embedding(Parameters& parameters, const std::string& name, int64_t count, int64_t size) {
  check_positive(name, "count", count);
  check_positive(name, "size", size);
  NewTensors tensors(parameters, name);
  tensors.add("weight", normal({count, size}, 0, 1, parameters.dtype, parameters.device));
  return add_applied(parameters, tensors.finish(), [](const Tensor& x, const Bindings& of) {
    return embedding(x, of[0]->value());
  });
}

Layer& add_dropout(Parameters& parameters, double probability) {
  check_number("dropout", "probability", probability >= 0 && probability <= 1, probability);
  return add_applied(parameters, {}, [&parameters, probability](const Tensor& x, const Bindings&) {
    return dropout(x, probability, parameters.training.on());
  });
}

}  // namespace mt
