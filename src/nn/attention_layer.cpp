// SPDX-License-Identifier: Apache-2.0
// Attention with several heads, and the block that transformers are made of.
#include "nn/new_layer.h"

namespace mt {
namespace {

// [..., n, heads d] -> [..., heads, n, d].
Tensor split_heads(const Tensor& projected, int64_t heads) {
  int last = projected.rank() - 1;
  Shape shape = projected.shape();
  shape.push_back(shape[last] / heads);
  shape[last] = heads;
  return move_axis(reshape(projected, shape), last, last - 1);
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

// Part `part` of three along an axis.
Tensor third(const Tensor& x, int axis, int part) {
  int64_t size = x.shape()[axis] / 3;
  return slice(x, axis, part * size, size, 1);
}

class Heads {
 public:
  Heads(Parameters& parameters, int64_t width, int64_t heads, const Attention& how, bool bias)
      : parameters_(parameters), width_(width), heads_(heads), how_(how), bias_(bias) {}

  void check(const std::string& layer) const {
    check_positive(layer, "width", width_);
    check_positive(layer, "heads", heads_);
    check_number(layer, "dropout", how_.dropout >= 0 && how_.dropout <= 1, how_.dropout);
    if (width_ % heads_) {
      fail(Code::invalid, "layer \"%s\": %lld heads do not divide width %lld", layer.c_str(),
           static_cast<long long>(heads_), static_cast<long long>(width_));
    }
  }
  void add_to(NewTensors& tensors, const std::string& prefix) const {
    tensors.add_uniform(prefix + "in_proj_weight", {3 * width_, width_}, width_);
    if (bias_) tensors.add_uniform(prefix + "in_proj_bias", {3 * width_}, width_);
    tensors.add_uniform(prefix + "out_proj.weight", {width_, width_}, width_);
    if (bias_) tensors.add_uniform(prefix + "out_proj.bias", {width_}, width_);
  }
  // Takes them in the order of add_to(), from `bindings` on.
  void take(Binding* const* bindings) {
    in_weight_ = *bindings++;
    if (bias_) in_bias_ = *bindings++;
    out_weight_ = *bindings++;
    if (bias_) out_bias_ = *bindings++;
  }

  // No key and value: the query's own.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const Tensor& mask) const {
    Tensor q, k, v, weight = in_weight_->value(), bias = value_of(in_bias_);
    check_input(query);
    if (!key && !value) {
      Tensor all = linear(query, weight, bias);
      int last = all.rank() - 1;
      q = third(all, last, 0), k = third(all, last, 1), v = third(all, last, 2);
    } else {
      auto project = [&](const Tensor& x, int part) {
        check_input(x);
        return linear(x, third(weight, 0, part), bias ? third(bias, 0, part) : bias);
      };
      const Tensor& seen = key ? key : query;
      q = project(query, 0), k = project(seen, 1), v = project(value ? value : seen, 2);
    }
    Attention now = how_;
    now.training = parameters_.training;
    Tensor mixed = attention(split_heads(q, heads_), split_heads(k, heads_), split_heads(v, heads_),
                             mask, now);
    return linear(join_heads(mixed), out_weight_->value(), value_of(out_bias_));
  }

 private:
  void check_input(const Tensor& x) const {
    if (x.rank() >= 2 && x.shape().back() == width_) return;
    fail(Code::shape, "attention: %s: needs [..., n, %lld]", to_string(x.shape()).c_str(),
         static_cast<long long>(width_));
  }

  Parameters& parameters_;
  int64_t width_, heads_;
  Attention how_;
  bool bias_;
  Binding *in_weight_ = nullptr, *in_bias_ = nullptr;
  Binding *out_weight_ = nullptr, *out_bias_ = nullptr;
};

class AttentionLayer final : public Layer {
 public:
  explicit AttentionLayer(const Heads& heads) : heads_(heads) {}
  Tensor apply(const Tensor& x) override { return heads_(x, nullptr, nullptr, nullptr); }
  Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                const Tensor& mask) override {
    return heads_(query, key, value, mask);
  }

 private:
  Heads heads_;
};

class TransformerBlock final : public Layer {
 public:
  TransformerBlock(Parameters& parameters, const Heads& heads, Transformer how,
                   const Bindings& rest)
      : parameters_(parameters), heads_(heads), how_(std::move(how)), rest_(rest) {}

  Tensor apply(const Tensor& x) override { return attend(x, nullptr, nullptr, nullptr); }
  Tensor attend(const Tensor& x, const Tensor& key, const Tensor& value,
                const Tensor& mask) override {
    if (key || value) fail(Code::invalid, "a transformer block has no key and value but its own");
    if (how_.norm_first) {
      Tensor y = x + drop(heads_(norm(x, 4), nullptr, nullptr, mask));
      return y + feed(norm(y, 6));
    }
    Tensor y = norm(x + drop(heads_(x, nullptr, nullptr, mask)), 4);
    return norm(y + feed(y), 6);
  }

 private:
  // What follows attention's tensors: linear1, linear2, norm1, norm2, each weight and bias.
  Tensor apply_linear(const Tensor& x, size_t at) const {
    return linear(x, rest_[at]->value(), rest_[at + 1]->value());
  }
  Tensor norm(const Tensor& x, size_t at) const {
    return layer_norm(x, 1, rest_[at]->value(), rest_[at + 1]->value(), how_.epsilon);
  }
  Tensor drop(const Tensor& x) const { return dropout(x, how_.dropout, parameters_.training); }
  Tensor feed(const Tensor& x) const {
    Tensor inner = apply_linear(x, 0);
    inner = expression(how_.activation.c_str(), {inner}, inner.device());
    return drop(apply_linear(drop(inner), 2));
  }

  Parameters& parameters_;
  Heads heads_;
  Transformer how_;
  Bindings rest_;
};

}  // namespace

Layer& add_attention(Parameters& parameters, const std::string& name, int64_t width, int64_t heads,
                     const Attention& how, bool bias) {
  Heads own(parameters, width, heads, how, bias);
  own.check(name);
  NewTensors tensors(parameters, name);
  own.add_to(tensors, "");
  own.take(tensors.finish().data());
  return parameters.add_layer(std::make_unique<AttentionLayer>(own));
}

Layer& add_transformer(Parameters& parameters, const std::string& name, int64_t width,
                       int64_t heads, const Transformer& how) {
  Heads own(parameters, width, heads, {.causal = how.causal, .dropout = how.dropout}, true);
  own.check(name);
  check_epsilon(name, how.epsilon);
  int64_t hidden = how.hidden ? how.hidden : 4 * width;
  check_positive(name, "hidden", hidden);
  expression(how.activation.c_str(), {full({}, 0, parameters.dtype, parameters.device)},
             parameters.device);  // or it fails now
  NewTensors tensors(parameters, name);
  own.add_to(tensors, "self_attn.");
  tensors.add_uniform("linear1.weight", {hidden, width}, width);
  tensors.add_uniform("linear1.bias", {hidden}, width);
  tensors.add_uniform("linear2.weight", {width, hidden}, hidden);
  tensors.add_uniform("linear2.bias", {width}, hidden);
  for (const char* norm : {"norm1.", "norm2."}) {
    tensors.add_full(norm + std::string("weight"), {width}, 1);
    tensors.add_full(norm + std::string("bias"), {width}, 0);
  }
  Bindings all = tensors.finish();
  own.take(all.data());
  return parameters.add_layer(std::make_unique<TransformerBlock>(
      parameters, own, how, Bindings(all.begin() + 4, all.end())));
}

}  // namespace mt
