// SPDX-License-Identifier: Apache-2.0
#include "nn/layers.h"

#include <cmath>

#include "ops/random.h"
#include "tensor/error.h"

namespace mt {
namespace {

void check_positive(const std::string& layer, const char* what, int64_t value) {
  if (value < 1) {
    fail(Code::invalid, "layer \"%s\": %s cannot be %lld", layer.c_str(), what,
         static_cast<long long>(value));
  }
}
void check_number(const std::string& layer, const char* what, bool possible, double value) {
  if (!possible) fail(Code::invalid, "layer \"%s\": %s cannot be %g", layer.c_str(), what, value);
}
void check_epsilon(const std::string& layer, double epsilon) {
  check_number(layer, "epsilon", epsilon >= 0 && std::isfinite(epsilon), epsilon);
}

// The tensors of one layer. They are added together, once all names are known to be free.
class Tensors {
 public:
  Tensors(Parameters& parameters, const std::string& layer)
      : parameters_(parameters), prefix_(layer.empty() ? layer : layer + '.') {}

  void add(const char* name, Tensor value, bool is_buffer = false) {
    parameters_.check_new(prefix_ + name);
    pending_.push_back({prefix_ + name, std::move(value), is_buffer});
  }
  void add_uniform(const char* name, const Shape& shape, int64_t fan_in) {
    double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    add(name, uniform(shape, -bound, bound, parameters_.dtype, parameters_.device));
  }
  void add_full(const char* name, const Shape& shape, double value, bool is_buffer = false) {
    add(name, full(shape, value, parameters_.dtype, parameters_.device), is_buffer);
  }
  // In the order in which they were given.
  std::vector<Binding*> finish() {
    std::vector<Binding*> bindings;
    for (Pending& tensor : pending_) {
      bindings.push_back(
          &parameters_.create(tensor.name, std::move(tensor.value), tensor.is_buffer));
    }
    return bindings;
  }

 private:
  struct Pending {
    std::string name;
    Tensor value;
    bool is_buffer;
  };
  Parameters& parameters_;
  std::string prefix_;
  std::vector<Pending> pending_;
};

Tensor value_of(const Binding* binding) { return binding ? binding->value() : Tensor(); }

// A layer whose result is a function of x and of its tensors alone.
template <class Function>
class Applied final : public Layer {
 public:
  Applied(std::vector<Binding*> bindings, Function function)
      : bindings_(std::move(bindings)), function_(std::move(function)) {}
  Tensor apply(const Tensor& x) override { return function_(x, bindings_); }

 private:
  std::vector<Binding*> bindings_;
  Function function_;
};
using Bindings = std::vector<Binding*>;

template <class Function>
Layer& add(Parameters& parameters, Bindings bindings, Function function) {
  return parameters.add_layer(
      std::make_unique<Applied<Function>>(std::move(bindings), std::move(function)));
}

// [..., n, 3 heads d] -> query, key or value: [..., heads, n, d].
Tensor split_heads(const Tensor& projected, int part, int64_t width, int64_t heads) {
  int last = projected.rank() - 1;
  Tensor own = slice(projected, last, part * width, width, 1);
  Shape shape = own.shape();
  shape[last] = heads;
  shape.push_back(width / heads);
  return move_axis(reshape(own, shape), last, last - 1);
}

// [..., heads, n, d] -> [..., n, heads d].
Tensor join_heads(const Tensor& x) {
  int last = x.rank() - 1;
  Tensor moved = move_axis(x, last - 2, last - 1);
  Shape shape = moved.shape();
  shape[last - 1] *= shape[last];
  shape.erase(last);
  return reshape(moved, shape);
}

}  // namespace

Layer& add_linear(Parameters& parameters, const std::string& name, int64_t in, int64_t out,
                  bool bias) {
  check_positive(name, "in_features", in);
  check_positive(name, "out_features", out);
  Tensors tensors(parameters, name);
  tensors.add_uniform("weight", {out, in}, in);
  if (bias) tensors.add_uniform("bias", {out}, in);
  return add(parameters, tensors.finish(), [bias](const Tensor& x, const Bindings& of) {
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
  Shape shape = transposed ? Shape{in, out / how.groups} : Shape{out, in / how.groups};
  for (int64_t size : kernel) shape.push_back(size);
  check_shape(shape, size_of(parameters.dtype), "convolution layer");
  int64_t fan_in = element_count(shape) / shape[0];
  Tensors tensors(parameters, name);
  tensors.add_uniform("weight", shape, fan_in);
  if (bias) tensors.add_uniform("bias", {out}, fan_in);
  return add(parameters, tensors.finish(),
             [how, transposed, bias](const Tensor& x, const Bindings& of) {
               Tensor weight = of[0]->value(), offset = value_of(bias ? of[1] : nullptr);
               return transposed ? convolution_transpose(x, weight, offset, how)
                                 : convolution(x, weight, offset, how);
             });
}

Layer& add_layer_norm(Parameters& parameters, const std::string& name, const Shape& shape,
                      double epsilon) {
  for (int64_t size : shape) check_positive(name, "a size", size);
  check_epsilon(name, epsilon);
  Tensors tensors(parameters, name);
  tensors.add_full("weight", shape, 1);
  tensors.add_full("bias", shape, 0);
  int naxes = shape.rank();
  return add(parameters, tensors.finish(), [naxes, epsilon](const Tensor& x, const Bindings& of) {
    return layer_norm(x, naxes, of[0]->value(), of[1]->value(), epsilon);
  });
}

Layer& add_rms_norm(Parameters& parameters, const std::string& name, const Shape& shape,
                    double epsilon) {
  for (int64_t size : shape) check_positive(name, "a size", size);
  check_epsilon(name, epsilon);
  Tensors tensors(parameters, name);
  tensors.add_full("weight", shape, 1);
  int naxes = shape.rank();
  return add(parameters, tensors.finish(), [naxes, epsilon](const Tensor& x, const Bindings& of) {
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
  Tensors tensors(parameters, name);
  tensors.add_full("weight", {channels}, 1);
  tensors.add_full("bias", {channels}, 0);
  return add(parameters, tensors.finish(), [groups, epsilon](const Tensor& x, const Bindings& of) {
    return group_norm(x, groups, of[0]->value(), of[1]->value(), epsilon);
  });
}

Layer& add_batch_norm(Parameters& parameters, const std::string& name, int64_t channels,
                      double momentum, double epsilon) {
  check_positive(name, "channels", channels);
  check_number(name, "momentum", momentum >= 0 && momentum <= 1, momentum);
  check_epsilon(name, epsilon);
  Tensors tensors(parameters, name);
  tensors.add_full("weight", {channels}, 1);
  tensors.add_full("bias", {channels}, 0);
  tensors.add_full("running_mean", {channels}, 0, true);
  tensors.add_full("running_var", {channels}, 1, true);
  return add(parameters, tensors.finish(),
             [&parameters, momentum, epsilon](const Tensor& x, const Bindings& of) {
               BatchNorm result =
                   batch_norm(x, of[0]->value(), of[1]->value(), of[2]->value(), of[3]->value(),
                              parameters.training, momentum, epsilon);
               if (parameters.training) {
                 of[2]->bind(std::move(result.running_mean));
                 of[3]->bind(std::move(result.running_var));
               }
               return result.y;
             });
}

Layer& add_embedding(Parameters& parameters, const std::string& name, int64_t count, int64_t size) {
  check_positive(name, "count", count);
  check_positive(name, "size", size);
  Tensors tensors(parameters, name);
  tensors.add("weight", normal({count, size}, 0, 1, parameters.dtype, parameters.device));
  return add(parameters, tensors.finish(),
             [](const Tensor& x, const Bindings& of) { return embedding(x, of[0]->value()); });
}

Layer& add_dropout(Parameters& parameters, double probability) {
  check_number("dropout", "probability", probability >= 0 && probability <= 1, probability);
  return add(parameters, {}, [&parameters, probability](const Tensor& x, const Bindings&) {
    return dropout(x, probability, parameters.training);
  });
}

Layer& add_attention(Parameters& parameters, const std::string& name, int64_t width, int64_t heads,
                     const Attention& how, bool bias) {
  check_positive(name, "width", width);
  check_positive(name, "heads", heads);
  check_number(name, "dropout", how.dropout >= 0 && how.dropout <= 1, how.dropout);
  if (width % heads) {
    fail(Code::invalid, "layer \"%s\": %lld heads do not divide width %lld", name.c_str(),
         static_cast<long long>(heads), static_cast<long long>(width));
  }
  Tensors tensors(parameters, name);
  tensors.add_uniform("in_proj_weight", {3 * width, width}, width);
  if (bias) tensors.add_uniform("in_proj_bias", {3 * width}, width);
  tensors.add_uniform("out_proj.weight", {width, width}, width);
  if (bias) tensors.add_uniform("out_proj.bias", {width}, width);
  Bindings own = tensors.finish();
  if (!bias) own = {own[0], nullptr, own[1], nullptr};
  return add(parameters, own,
             [&parameters, how, width, heads](const Tensor& x, const Bindings& of) {
               if (x.rank() < 2 || x.shape().back() != width) {
                 fail(Code::shape, "attention: %s: needs [..., n, %lld]",
                      to_string(x.shape()).c_str(), static_cast<long long>(width));
               }
               Tensor projected = linear(x, of[0]->value(), value_of(of[1]));
               Attention now = how;
               now.training = parameters.training;
               Tensor mixed = attention(split_heads(projected, 0, width, heads),
                                        split_heads(projected, 1, width, heads),
                                        split_heads(projected, 2, width, heads), nullptr, now);
               return linear(join_heads(mixed), of[2]->value(), value_of(of[3]));
             });
}

Layer& add_recurrent(Parameters& parameters, const std::string& name, RecurrentKind kind,
                     int64_t in, int64_t hidden, int64_t layers, bool bias) {
  check_positive(name, "in", in);
  check_positive(name, "hidden", hidden);
  check_positive(name, "layers", layers);
  constexpr int64_t gates[] = {1, 3, 4};
  int64_t width = gates[static_cast<int>(kind)] * hidden;
  Tensors tensors(parameters, name);
  for (int64_t i = 0; i < layers; ++i) {
    std::string of = "_l" + std::to_string(i);
    tensors.add_uniform(("weight_ih" + of).c_str(), {width, i ? hidden : in}, hidden);
    tensors.add_uniform(("weight_hh" + of).c_str(), {width, hidden}, hidden);
    if (bias) tensors.add_uniform(("bias_ih" + of).c_str(), {width}, hidden);
    if (bias) tensors.add_uniform(("bias_hh" + of).c_str(), {width}, hidden);
  }
  return add(parameters, tensors.finish(), [kind, bias](const Tensor& x, const Bindings& of) {
    Tensor y = x;
    for (size_t i = 0; i < of.size(); i += bias ? 4 : 2) {
      y = recurrent(kind, y, nullptr, nullptr,
                    {of[i]->value(), of[i + 1]->value(), value_of(bias ? of[i + 2] : nullptr),
                     value_of(bias ? of[i + 3] : nullptr)})
              .y;
    }
    return y;
  });
}

}  // namespace mt
