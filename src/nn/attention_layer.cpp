// SPDX-License-Identifier: Apache-2.0
// Attention with several heads, and the block that transformers are made of.
#include "nn/new_layer.h"
#include "ops/checked_indices.h"
#include "ops/gather.h"

namespace mt {
namespace {

// [..., n, heads d] -> [..., n, heads, d].
Tensor part_heads(const Tensor& projected, int64_t heads) {
  int last = projected.rank() - 1;
  Shape shape = projected.shape();
  shape.push_back(shape[last] / heads);
  shape[last] = heads;
  return reshape(projected, shape);
}

// [..., n, heads, d] -> [..., heads, n, d].
Tensor heads_first(const Tensor& x) { return move_axis(x, x.rank() - 2, x.rank() - 3); }

// [..., n, heads d] -> [..., heads, n, d].
Tensor split_heads(const Tensor& projected, int64_t heads) {
  return heads_first(part_heads(projected, heads));
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
    Tensor weight = in_weight_->value(), bias = value_of(in_bias_);
    check_input(query);
    if (!key && !value) {
      // Cut by heads, so that the gradients of all three are one copy.
      Tensor all = part_heads(linear(query, weight, bias), 3 * heads_);
      auto part = [&](int i) { return heads_first(third(all, all.rank() - 2, i)); };
      return mix(part(0), part(1), part(2), mask, how_.causal);
    }
    auto project = [&](const Tensor& x, int part) {
      check_input(x);
      return split_heads(linear(x, third(weight, 0, part), bias ? third(bias, 0, part) : bias),
                         heads_);
    };
    const Tensor& seen = key ? key : query;
    Tensor q = project(query, 0), k = project(seen, 1), v = project(value ? value : seen, 2);
    return mix(q, k, v, mask, how_.causal);
  }

  // The same with its own key and value and those in `kept`, [2, ..., heads, context, d].
  Layer::Continued proceed(const Tensor& x, const Tensor& kept, const Tensor& places) const {
    check_input(x);
    check_kept(x, kept);
    int64_t n = x.shape()[x.rank() - 2], context = kept.shape()[kept.rank() - 2];
    if (places.shape() != Shape({n})) {
      fail(Code::shape, "apply_kept: places %s: needs [%lld], one for each row of %s",
           to_string(places.shape()).c_str(), static_cast<long long>(n),
           to_string(x.shape()).c_str());
    }
    Tensor at = checked_indices(places, kept.rank() - 2, kept.shape(), "apply_kept", false);
    Tensor all = linear(x, in_weight_->value(), value_of(in_bias_));
    int last = all.rank() - 1;
    Tensor query = split_heads(slice(all, last, 0, width_, 1), heads_);
    // [..., heads of keys and then of values, n, d] -> [2, ..., heads, n, d].
    Tensor own = split_heads(slice(all, last, width_, 2 * width_, 1), 2 * heads_);
    Shape apart = query.shape();
    apart.insert(apart.rank() - 3, 2);
    own = move_axis(reshape(own, apart), apart.rank() - 4, 0);
    Tensor now = put(kept, own, at);
    Tensor mask = less_equal(iota({context}, Dtype::int64, x.device()), reshape(at, {n, 1}));
    return {mix(query, select(now, 0, 0), select(now, 0, 1), mask, false), now};
  }
  Tensor kept_zeros(const Shape& lead, int64_t context) const {
    check_positive("kept_zeros", "context", context);
    check_causal("kept_zeros");
    Shape shape = kept_shape(lead, context);
    Tensor weight = in_weight_->value();
    check_shape(shape, size_of(weight.dtype()), "kept_zeros");
    return full(shape, 0, weight.dtype(), weight.device());
  }

 private:
  void check_input(const Tensor& x) const {
    if (x.rank() >= 2 && x.shape().back() == width_) return;
    fail(Code::shape, "attention: %s: needs [..., n, %lld]", to_string(x.shape()).c_str(),
         static_cast<long long>(width_));
  }

  Shape kept_shape(const Shape& lead, int64_t context) const {
    Shape shape{2};
    for (int64_t size : lead) shape.push_back(size);
    for (int64_t size : {heads_, context, width_ / heads_}) shape.push_back(size);
    return shape;
  }
  void check_causal(const char* name) const {
    if (how_.causal) return;
    fail(Code::invalid, "%s: attention that is not causal: what comes later changes what was",
         name);
  }
  void check_kept(const Tensor& x, const Tensor& kept) const {
    check_causal("apply_kept");
    Shape lead = leading(x);
    int64_t context = kept.rank() < 2 ? 0 : kept.shape()[kept.rank() - 2];
    if (kept.shape() != kept_shape(lead, context)) {
      std::string sizes = to_string(lead);
      sizes = sizes.substr(1, sizes.size() - 2) + (lead.empty() ? "" : ",");
      fail(Code::shape, "apply_kept: kept %s: for %s needs [2,%s%lld,context,%lld]",
           to_string(kept.shape()).c_str(), to_string(x.shape()).c_str(), sizes.c_str(),
           static_cast<long long>(heads_), static_cast<long long>(width_ / heads_));
    }
    if (!is_floating(kept.dtype())) {
      fail(Code::dtype, "apply_kept: kept must be floats, got %s", name_of(kept.dtype()));
    }
  }
  // `kept` with what belongs at the places.
  static Tensor put(const Tensor& kept, const Tensor& own, const Tensor& places) {
    if (kept.device().host_memory) {
      return put_rows(kept, cast(own, kept.dtype()), kept.rank() - 2, {places});
    }
    if (places.size() == 1) {
      int64_t context = kept.shape()[kept.rank() - 2];
      Tensor here = equal(iota({context, 1}, Dtype::int64, kept.device()), places);
      return where(here, cast(own, kept.dtype()), kept);
    }
    return index_put(kept,
                     {IndexItem{IndexItem::ellipsis}, IndexItem{IndexItem::by, 0, 0, 1, places},
                      IndexItem{IndexItem::range}},
                     own);
  }
  Tensor mix(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
             bool causal) const {
    Attention now = how_;
    now.training = parameters_.training.on();
    now.causal = causal;
    Tensor mixed = attention(query, key, value, mask, now);
    return linear(join_heads(mixed), out_weight_->value(), value_of(out_bias_));
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
  Continued proceed(const Tensor& x, const Tensor& kept, const Tensor& places) override {
    return heads_.proceed(x, kept, places);
  }
  Tensor kept_zeros(const Shape& lead, int64_t context) override {
    return heads_.kept_zeros(lead, context);
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
    return around(x, [&](const Tensor& seen) { return heads_(seen, nullptr, nullptr, mask); });
  }
  Continued proceed(const Tensor& x, const Tensor& kept, const Tensor& places) override {
    Tensor now;
    Tensor y = around(x, [&](const Tensor& seen) {
      Continued own = heads_.proceed(seen, kept, places);
      now = own.kept;
      return own.y;
    });
    return {y, now};
  }
  Tensor kept_zeros(const Shape& lead, int64_t context) override {
    return heads_.kept_zeros(lead, context);
  }

 private:
  // What stands around its attention, attend(x).
  template <class Attend>
  Tensor around(const Tensor& x, Attend&& attend) const {
    if (how_.norm_first) {
      Tensor y = x + drop(attend(norm(x, 4)));
      return y + feed(norm(y, 6));
    }
    Tensor y = norm(x + drop(attend(x)), 4);
    return norm(y + feed(y), 6);
  }
  // What follows attention's tensors: linear1, linear2, norm1, norm2, each weight and bias.
  Tensor apply_linear(const Tensor& x, size_t at) const {
    return linear(x, rest_[at]->value(), rest_[at + 1]->value());
  }
  Tensor norm(const Tensor& x, size_t at) const {
    return layer_norm(x, 1, rest_[at]->value(), rest_[at + 1]->value(), how_.epsilon);
  }
  Tensor drop(const Tensor& x) const { return dropout(x, how_.dropout, parameters_.training.on()); }
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
