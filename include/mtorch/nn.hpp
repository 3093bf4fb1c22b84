// SPDX-License-Identifier: Apache-2.0
/// @file nn.hpp
/// Functions of networks, losses, parameters and layers. See mtorch.hpp.
#ifndef MTORCH_NN_HPP_
#define MTORCH_NN_HPP_

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "linear.hpp"
#include "nn.h"
#include "optim.h"

namespace mtorch {

// ----------------------------------------------------------------------- Functions of networks

inline Tensor softmax(const Tensor& x, int64_t axis = -1) {
  return Tensor::own(mt_softmax(x.get(), axis));
}
inline Tensor log_softmax(const Tensor& x, int64_t axis = -1) {
  return Tensor::own(mt_log_softmax(x.get(), axis));
}
inline Tensor layer_norm(const Tensor& x, size_t naxes = 1, const Tensor& weight = {},
                         const Tensor& bias = {}, double epsilon = 1e-5) {
  return Tensor::own(mt_layer_norm(x.get(), naxes, weight.get(), bias.get(), epsilon));
}
inline Tensor rms_norm(const Tensor& x, size_t naxes = 1, const Tensor& weight = {},
                       double epsilon = 1e-6) {
  return Tensor::own(mt_rms_norm(x.get(), naxes, weight.get(), epsilon));
}

inline Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight = {},
                         const Tensor& bias = {}, double epsilon = 1e-5) {
  return Tensor::own(mt_group_norm(x.get(), groups, weight.get(), bias.get(), epsilon));
}
/// mt_batch_norm_options.
struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1, epsilon = 1e-5;
};
inline Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& running_mean, const Tensor& running_var,
                         const BatchNormOptions& options = {}) {
  mt_batch_norm_options o{sizeof o, options.training, options.momentum, options.epsilon};
  return Tensor::own(
      mt_batch_norm(x.get(), weight.get(), bias.get(), running_mean.get(), running_var.get(), &o));
}
inline Tensor embedding(const Tensor& indices, const Tensor& weight) {
  return Tensor::own(mt_embedding(indices.get(), weight.get()));
}
inline Tensor dropout(const Tensor& x, double probability, bool training = true) {
  return Tensor::own(mt_dropout(x.get(), probability, training));
}
inline Tensor categorical(const Tensor& logits, int64_t axis = -1) {
  return Tensor::own(mt_categorical(logits.get(), axis));
}

/// mt_attention_options.
struct AttentionOptions {
  bool causal = false;
  double scale = 0, dropout = 0;
  bool training = false, bias = true;
  /// As C has it.
  mt_attention_options c() const {
    return {sizeof(mt_attention_options), causal, scale, dropout, training, bias};
  }
};
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                           const Tensor& value, const Tensor& mask = {},
                                           const AttentionOptions& options = {}) {
  mt_attention_options o = options.c();
  return Tensor::own(
      mt_scaled_dot_product_attention(query.get(), key.get(), value.get(), mask.get(), &o));
}

/// mt_transformer_options.
struct TransformerOptions {
  int64_t hidden = 0;
  double dropout = 0;
  const char* activation = nullptr;
  bool norm_first = true, causal = false;
  double epsilon = 1e-5;
};

/// All states and the last one.
inline std::pair<Tensor, Tensor> rnn(const Tensor& x, const Tensor& state, const Tensor& weight_ih,
                                     const Tensor& weight_hh, const Tensor& bias_ih = {},
                                     const Tensor& bias_hh = {}) {
  Tensors both = detail::filled(2, [&](mt_tensor** r) {
    return mt_rnn(x.get(), state.get(), weight_ih.get(), weight_hh.get(), bias_ih.get(),
                  bias_hh.get(), &r[0], &r[1]);
  });
  return {both[0], both[1]};
}
/// All states and the last one.
inline std::pair<Tensor, Tensor> gru(const Tensor& x, const Tensor& state, const Tensor& weight_ih,
                                     const Tensor& weight_hh, const Tensor& bias_ih = {},
                                     const Tensor& bias_hh = {}) {
  Tensors both = detail::filled(2, [&](mt_tensor** r) {
    return mt_gru(x.get(), state.get(), weight_ih.get(), weight_hh.get(), bias_ih.get(),
                  bias_hh.get(), &r[0], &r[1]);
  });
  return {both[0], both[1]};
}
/// All states, the last one and the last cell.
inline Tensors lstm(const Tensor& x, const Tensor& state, const Tensor& cell,
                    const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih = {},
                    const Tensor& bias_hh = {}) {
  return detail::filled(3, [&](mt_tensor** r) {
    return mt_lstm(x.get(), state.get(), cell.get(), weight_ih.get(), weight_hh.get(),
                   bias_ih.get(), bias_hh.get(), &r[0], &r[1], &r[2]);
  });
}

/// What a loss makes of its elements.
enum class Reduction : int32_t {
  mean = MT_REDUCTION_MEAN,
  sum = MT_REDUCTION_SUM,
  none = MT_REDUCTION_NONE
};
inline Tensor cross_entropy(const Tensor& logits, const Tensor& targets, int64_t axis = -1,
                            Reduction reduction = Reduction::mean) {
  return Tensor::own(
      mt_cross_entropy(logits.get(), targets.get(), axis, static_cast<int32_t>(reduction)));
}
/// mt_cross_entropy_options for cross_entropy_with(), and a weight for each class.
struct CrossEntropyOptions {
  Tensor weight = {};
  int64_t ignore_index = MT_NO_CLASS;
  double label_smoothing = 0;
};
inline Tensor cross_entropy_with(const Tensor& logits, const Tensor& targets,
                                 const CrossEntropyOptions& options, int64_t axis = -1,
                                 Reduction reduction = Reduction::mean) {
  mt_cross_entropy_options o{sizeof o, options.ignore_index, options.label_smoothing};
  return Tensor::own(mt_cross_entropy_with(logits.get(), targets.get(), axis,
                                           static_cast<int32_t>(reduction), options.weight.get(),
                                           &o));
}
inline Tensor l1_loss(const Tensor& x, const Tensor& target,
                      Reduction reduction = Reduction::mean) {
  return Tensor::own(mt_l1_loss(x.get(), target.get(), static_cast<int32_t>(reduction)));
}
inline Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1,
                         Reduction reduction = Reduction::mean) {
  return Tensor::own(mt_huber_loss(x.get(), target.get(), delta, static_cast<int32_t>(reduction)));
}
inline Tensor mse_loss(const Tensor& x, const Tensor& target,
                       Reduction reduction = Reduction::mean) {
  return Tensor::own(mt_mse_loss(x.get(), target.get(), static_cast<int32_t>(reduction)));
}
inline Tensor bce_with_logits(const Tensor& x, const Tensor& target,
                              Reduction reduction = Reduction::mean) {
  return Tensor::own(mt_bce_with_logits(x.get(), target.get(), static_cast<int32_t>(reduction)));
}
inline Tensor bce_with_logits_weighted(const Tensor& x, const Tensor& target,
                                       const Tensor& positive_weight,
                                       Reduction reduction = Reduction::mean) {
  return Tensor::own(mt_bce_with_logits_weighted(x.get(), target.get(), positive_weight.get(),
                                                 static_cast<int32_t>(reduction)));
}

// ------------------------------------------------------------------------- Parameters and layers

/// Something that is applied to a tensor. Keeps its collection alive; empty until it is assigned.
class Layer {
 public:
  Layer() = default;
  Tensor operator()(const Tensor& x) const { return Tensor::own(mt_apply(handle_, x.get())); }
  /// Attention to others, or under a mask: mt_apply_attention().
  Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value = {},
                const Tensor& mask = {}) const {
    return Tensor::own(
        mt_apply_attention(handle_, query.get(), key.get(), value.get(), mask.get()));
  }
  /// mt_apply_kept(): goes on from what `kept` holds, and rebinds it.
  Tensor operator()(const Tensor& x, const Tensor& kept, const Tensor& places) const {
    return Tensor::own(mt_apply_kept(handle_, x.get(), kept.get(), places.get()));
  }
  /// mt_kept_zeros(): what to begin with.
  Tensor kept_zeros(Dims dims, int64_t context) const {
    return Tensor::own(mt_kept_zeros(handle_, dims.data(), dims.size(), context));
  }
  /// mt_apply_recurrent(): y, the last states and, of LSTM, the last cells; empty of others.
  Tensors run(const Tensor& x, const Tensor& states = {}, const Tensor& cells = {}) const {
    return detail::filled(3, [&](mt_tensor** r) {
      return mt_apply_recurrent(handle_, x.get(), states.get(), cells.get(), &r[0], &r[1], &r[2]);
    });
  }

 private:
  friend class Parameters;
  Layer(std::shared_ptr<mt_parameters> owner, mt_layer* handle)
      : owner_(std::move(owner)), handle_(detail::required(handle)) {}
  std::shared_ptr<mt_parameters> owner_;
  mt_layer* handle_ = nullptr;
};

/// Layers and functions of a tensor, one after the other:
/// `Sequential net{p.linear("hidden", 2, 16), relu, p.linear("output", 16, 1)};`
class Sequential {
 public:
  template <class... Parts>
  explicit Sequential(Parts... parts) : parts_{Part(std::move(parts))...} {}
  Tensor operator()(Tensor x) const {
    for (const Part& part : parts_) x = part(x);
    return x;
  }

 private:
  using Part = std::function<Tensor(const Tensor&)>;
  std::vector<Part> parts_;
};

/// Tensors by name, and the layers that they belong to. Copies share the collection.
class Parameters {
 public:
  explicit Parameters(DType dtype = f32, const Device& device = {})
      : Parameters(mt_parameters_new(detail::code(dtype), device)) {}
  /// The owner of what a C function returned; throws its error if that is NULL.
  explicit Parameters(mt_parameters* result)
      : handle_(detail::required(result), mt_parameters_release) {}

  /// Tensors by name, as buffers: save_npz({{"x", x}, {"y", y}}, path).
  Parameters(std::initializer_list<std::pair<std::string, Tensor>> tensors) : Parameters() {
    for (const auto& [name, tensor] : tensors) add_buffer(name, tensor);
  }

  Layer linear(const std::string& name, int64_t in, int64_t out, bool bias = true) const {
    return layer(mt_layer_linear(get(), detail::text(name), in, out, bias));
  }
  Layer conv1d(const std::string& name, int64_t in, int64_t out, int64_t kernel,
               const ConvOptions& options = {}) const {
    mt_conv_options o = options.c();
    return layer(mt_layer_conv1d(get(), detail::text(name), in, out, kernel, &o));
  }
  Layer conv2d(const std::string& name, int64_t in, int64_t out, int64_t height, int64_t width,
               const ConvOptions& options = {}) const {
    mt_conv_options o = options.c();
    return layer(mt_layer_conv2d(get(), detail::text(name), in, out, height, width, &o));
  }
  Layer conv_transpose1d(const std::string& name, int64_t in, int64_t out, int64_t kernel,
                         const ConvOptions& options = {}) const {
    mt_conv_options o = options.c();
    return layer(mt_layer_conv_transpose1d(get(), detail::text(name), in, out, kernel, &o));
  }
  Layer conv_transpose2d(const std::string& name, int64_t in, int64_t out, int64_t height,
                         int64_t width, const ConvOptions& options = {}) const {
    mt_conv_options o = options.c();
    return layer(mt_layer_conv_transpose2d(get(), detail::text(name), in, out, height, width, &o));
  }
  Layer layer_norm(const std::string& name, Dims shape, double epsilon = 1e-5) const {
    return layer(
        mt_layer_layer_norm(get(), detail::text(name), shape.data(), shape.size(), epsilon));
  }
  Layer rms_norm(const std::string& name, Dims shape, double epsilon = 1e-6) const {
    return layer(mt_layer_rms_norm(get(), detail::text(name), shape.data(), shape.size(), epsilon));
  }
  Layer group_norm(const std::string& name, int64_t groups, int64_t channels,
                   double epsilon = 1e-5) const {
    return layer(mt_layer_group_norm(get(), detail::text(name), groups, channels, epsilon));
  }
  Layer rnn(const std::string& name, int64_t in, int64_t hidden, int64_t layers = 1,
            bool bias = true) const {
    return layer(mt_layer_rnn(get(), detail::text(name), in, hidden, layers, bias));
  }
  Layer gru(const std::string& name, int64_t in, int64_t hidden, int64_t layers = 1,
            bool bias = true) const {
    return layer(mt_layer_gru(get(), detail::text(name), in, hidden, layers, bias));
  }
  Layer lstm(const std::string& name, int64_t in, int64_t hidden, int64_t layers = 1,
             bool bias = true) const {
    return layer(mt_layer_lstm(get(), detail::text(name), in, hidden, layers, bias));
  }
  Layer batch_norm(const std::string& name, int64_t channels, double momentum = 0.1,
                   double epsilon = 1e-5) const {
    return layer(mt_layer_batch_norm(get(), detail::text(name), channels, momentum, epsilon));
  }
  Layer embedding(const std::string& name, int64_t count, int64_t size) const {
    return layer(mt_layer_embedding(get(), detail::text(name), count, size));
  }
  Layer dropout(double probability) const { return layer(mt_layer_dropout(get(), probability)); }
  Layer attention(const std::string& name, int64_t width, int64_t heads,
                  const AttentionOptions& options = {}) const {
    mt_attention_options o = options.c();
    return layer(mt_layer_attention(get(), detail::text(name), width, heads, &o));
  }
  Layer transformer(const std::string& name, int64_t width, int64_t heads,
                    const TransformerOptions& options = {}) const {
    mt_transformer_options o{sizeof o,           options.hidden,     options.dropout,
                             options.activation, options.norm_first, options.causal,
                             options.epsilon};
    return layer(mt_layer_transformer(get(), detail::text(name), width, heads, &o));
  }

  void add(const std::string& name, const Tensor& tensor) const {
    check(mt_parameters_add(get(), detail::text(name), tensor.get()));
  }
  void add_buffer(const std::string& name, const Tensor& tensor) const {
    check(mt_parameters_add_buffer(get(), detail::text(name), tensor.get()));
  }
  /// mt_parameters_share(): a tensor in the place of the one with this name.
  void share(const std::string& name, const Tensor& tensor) const {
    check(mt_parameters_share(get(), detail::text(name), tensor.get()));
  }
  size_t size() const { return mt_parameters_count(get()); }
  std::string name(size_t i) const { return detail::required(mt_parameters_name(get(), i)); }
  bool has(const std::string& name) const { return mt_parameters_has(get(), detail::text(name)); }
  Tensor operator[](std::integral auto i) const {  // a literal 0 could be a name, too
    return Tensor::share(detail::required(mt_parameters_tensor(get(), static_cast<size_t>(i))));
  }
  Tensor operator[](const std::string& name) const {
    return Tensor::share(detail::required(mt_parameters_get(get(), detail::text(name))));
  }
  /// All of them: for (const auto& [name, tensor] : p.tensors()).
  std::vector<std::pair<std::string, Tensor>> tensors() const {
    std::vector<std::pair<std::string, Tensor>> all;
    for (size_t i = 0; i < size(); ++i) all.emplace_back(name(i), (*this)[i]);
    return all;
  }
  bool is_buffer(size_t i) const { return mt_parameters_is_buffer(get(), i); }
  bool training() const { return mt_parameters_training(get()); }
  void set_training(bool training) const { check(mt_parameters_set_training(get(), training)); }
  void zero_grad() const { check(mt_parameters_zero_grad(get())); }
  /// mt_parameters_to(): on a device; all floats as a type.
  void to(const Device& device) const { check(mt_parameters_to(get(), 0, device)); }
  void to(DType dtype, const Device& device = {}) const {
    check(mt_parameters_to(get(), detail::code(dtype), device));
  }
  void save(const std::string& path) const { check(mt_parameters_save(get(), detail::text(path))); }
  void load(const std::string& path) const { check(mt_parameters_load(get(), detail::text(path))); }
  /// mt_clip_grad_norm(): the norm before.
  Tensor clip_grad_norm(double max_norm) const {
    return Tensor::own(mt_clip_grad_norm(get(), max_norm));
  }
  /// For C functions; still owned by this.
  mt_parameters* get() const { return handle_.get(); }

 private:
  Layer layer(mt_layer* made) const { return {handle_, made}; }
  std::shared_ptr<mt_parameters> handle_;
};

inline void init_uniform(const Tensor& x, double low, double high) {
  check(mt_init_uniform(x.get(), low, high));
}
inline void init_normal(const Tensor& x, double mean, double deviation) {
  check(mt_init_normal(x.get(), mean, deviation));
}
inline void init_xavier_uniform(const Tensor& x, double gain = 1) {
  check(mt_init_xavier_uniform(x.get(), gain));
}
inline void init_xavier_normal(const Tensor& x, double gain = 1) {
  check(mt_init_xavier_normal(x.get(), gain));
}
inline void init_kaiming_uniform(const Tensor& x, double slope = 0) {
  check(mt_init_kaiming_uniform(x.get(), slope));
}
inline void init_kaiming_normal(const Tensor& x, double slope = 0) {
  check(mt_init_kaiming_normal(x.get(), slope));
}
inline void init_orthogonal(const Tensor& x, double gain = 1) {
  check(mt_init_orthogonal(x.get(), gain));
}

}  // namespace mtorch

#endif
