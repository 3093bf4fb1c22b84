// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/nn.h on layers.
#include "nn/layers.h"

#include "api/guard.h"
#include "api/options.h"
#include "api/parameters.h"
#include "mtorch/nn.h"
#include "ops/random.h"

using namespace mt;
using namespace mt::api;

namespace {

// A layer is handed out as it is: the collection owns it.
Layer& get(mt_layer* layer) { return *reinterpret_cast<Layer*>(required(layer, "the layer")); }

// A layer that cannot be made leaves none of its tensors, and its random numbers to who is next.
class Addition {
 public:
  explicit Addition(Parameters& to) : to_(to) {}
  ~Addition() {
    if (!done_) to_.keep_first(entries_, layers_);
  }
  Addition(const Addition&) = delete;
  void done() { done_ = true; }

 private:
  Parameters& to_;
  const size_t entries_ = to_.entries().size(), layers_ = to_.layers();
  Draws draws_;
  bool done_ = false;
};

// body(collection, name) -> Layer&
template <class Body>
mt_layer* make(const char* function, mt_parameters* parameters, const char* name, Body body) {
  if (error_pending()) return nullptr;
  return read<mt_layer*>(function, nullptr, [&] {
    Parameters& target = collection(parameters);
    Addition addition(target);
    Layer& layer = body(target, std::string(required(name, "the name")));
    addition.done();
    return reinterpret_cast<mt_layer*>(&layer);
  });
}

mt_layer* make_convolution(const char* function, mt_parameters* parameters, const char* name,
                           int64_t in, int64_t out, const Dims& kernel,
                           const mt_conv_options* given, bool transposed) {
  return make(function, parameters, name,
              [&](Parameters& target, const std::string& prefix) -> Layer& {
                mt_conv_options o = options<mt_conv_options>(given, MT_CONV_OPTIONS_INIT);
                Convolution how = convolution_of(o, kernel.rank());
                return add_convolution(target, prefix, in, out, kernel, how, transposed, o.bias);
              });
}

}  // namespace

mt_tensor* mt_apply(mt_layer* layer, mt_tensor* x) {
  return give(
      "apply",
      [&] {
        Layer& applied = get(layer);
        Draws none_if_it_fails;
        return applied.apply(value(x));
      },
      false);
}

mt_tensor* mt_apply_attention(mt_layer* layer, mt_tensor* query, mt_tensor* key, mt_tensor* seen,
                              mt_tensor* mask) {
  return give(
      "apply_attention",
      [&] {
        Layer& applied = get(layer);
        Draws none_if_it_fails;
        return applied.attend(value(query), optional_value(key), optional_value(seen),
                              optional_value(mask));
      },
      false);
}

mt_tensor* mt_kept_zeros(mt_layer* layer, const int64_t* sizes, size_t ndim, int64_t context) {
  return give("kept_zeros", [&] {
    Layer& keeping = get(layer);
    return keeping.kept_zeros(shape(sizes, ndim), context);
  });
}

mt_tensor* mt_apply_kept(mt_layer* layer, mt_tensor* x, mt_tensor* kept, mt_tensor* places) {
  if (error_pending()) return nullptr;  // it would change what is kept
  return give(
      "apply_kept",
      [&] {
        Layer& applied = get(layer);
        Draws none_if_it_fails;
        Layer::Continued result = applied.proceed(value(x), value(kept), value(places));
        rebind(kept, std::move(result.kept));
        return result.y;
      },
      false);
}

mt_status mt_apply_recurrent(mt_layer* layer, mt_tensor* x, mt_tensor* states, mt_tensor* cells,
                             mt_tensor** y, mt_tensor** last, mt_tensor** last_cells) {
  return give_wanted<3>("apply_recurrent", {y, last, last_cells}, [&] {
    Layer& applied = get(layer);
    Layer::Run run = applied.run(value(x), optional_value(states), optional_value(cells));
    return std::array<Tensor, 3>{run.y, run.states, run.cells};
  });
}

mt_layer* mt_layer_linear(mt_parameters* parameters, const char* name, int64_t in_features,
                          int64_t out_features, bool bias) {
  return make("layer_linear", parameters, name,
              [&](Parameters& target, const std::string& prefix) -> Layer& {
                return add_linear(target, prefix, in_features, out_features, bias);
              });
}

mt_layer* mt_layer_conv1d(mt_parameters* parameters, const char* name, int64_t in_channels,
                          int64_t out_channels, int64_t kernel, const mt_conv_options* options) {
  return make_convolution("layer_conv1d", parameters, name, in_channels, out_channels, {kernel},
                          options, false);
}

mt_layer* mt_layer_conv2d(mt_parameters* parameters, const char* name, int64_t in_channels,
                          int64_t out_channels, int64_t height, int64_t width,
                          const mt_conv_options* options) {
  return make_convolution("layer_conv2d", parameters, name, in_channels, out_channels,
                          {height, width}, options, false);
}

mt_layer* mt_layer_conv_transpose1d(mt_parameters* parameters, const char* name,
                                    int64_t in_channels, int64_t out_channels, int64_t kernel,
                                    const mt_conv_options* options) {
  return make_convolution("layer_conv_transpose1d", parameters, name, in_channels, out_channels,
                          {kernel}, options, true);
}

mt_layer* mt_layer_conv_transpose2d(mt_parameters* parameters, const char* name,
                                    int64_t in_channels, int64_t out_channels, int64_t height,
                                    int64_t width, const mt_conv_options* options) {
  return make_convolution("layer_conv_transpose2d", parameters, name, in_channels, out_channels,
                          {height, width}, options, true);
}

mt_layer* mt_layer_layer_norm(mt_parameters* parameters, const char* name, const int64_t* sizes,
                              size_t ndim, double epsilon) {
  return make("layer_layer_norm", parameters, name,
              [&](Parameters& target, const std::string& prefix) -> Layer& {
                return add_layer_norm(target, prefix, shape(sizes, ndim), epsilon);
              });
}

mt_layer* mt_layer_rms_norm(mt_parameters* parameters, const char* name, const int64_t* sizes,
                            size_t ndim, double epsilon) {
  return make("layer_rms_norm", parameters, name,
              [&](Parameters& target, const std::string& prefix) -> Layer& {
                return add_rms_norm(target, prefix, shape(sizes, ndim), epsilon);
              });
}

mt_layer* mt_layer_group_norm(mt_parameters* parameters, const char* name, int64_t groups,
                              int64_t channels, double epsilon) {
  return make("layer_group_norm", parameters, name,
              [&](Parameters& target, const std::string& prefix) -> Layer& {
                return add_group_norm(target, prefix, groups, channels, epsilon);
              });
}

mt_layer* mt_layer_batch_norm(mt_parameters* parameters, const char* name, int64_t channels,
                              double momentum, double epsilon) {
  return make("layer_batch_norm", parameters, name,
              [&](Parameters& target, const std::string& prefix) -> Layer& {
                return add_batch_norm(target, prefix, channels, momentum, epsilon);
              });
}

mt_layer* mt_layer_embedding(mt_parameters* parameters, const char* name, int64_t count,
                             int64_t size) {
  return make("layer_embedding", parameters, name,
              [&](Parameters& target, const std::string& prefix) -> Layer& {
                return add_embedding(target, prefix, count, size);
              });
}

mt_layer* mt_layer_dropout(mt_parameters* parameters, double probability) {
  return make("layer_dropout", parameters, "",
              [&](Parameters& target, const std::string&) -> Layer& {
                return add_dropout(target, probability);
              });
}

mt_layer* mt_layer_attention(mt_parameters* parameters, const char* name, int64_t width,
                             int64_t heads, const mt_attention_options* given) {
  return make("layer_attention", parameters, name,
              [&](Parameters& target, const std::string& prefix) -> Layer& {
                mt_attention_options o =
                    options<mt_attention_options>(given, MT_ATTENTION_OPTIONS_INIT);
                Attention how{o.causal, o.scale, o.dropout, o.training};
                return add_attention(target, prefix, width, heads, how, o.bias);
              });
}

mt_layer* mt_layer_transformer(mt_parameters* parameters, const char* name, int64_t width,
                               int64_t heads, const mt_transformer_options* given) {
  return make("layer_transformer", parameters, name,
              [&](Parameters& target, const std::string& prefix) -> Layer& {
                mt_transformer_options o =
                    options<mt_transformer_options>(given, MT_TRANSFORMER_OPTIONS_INIT);
                Transformer how{.hidden = o.hidden,
                                .dropout = o.dropout,
                                .norm_first = o.norm_first,
                                .causal = o.causal,
                                .epsilon = o.epsilon};
                if (o.activation) how.activation = o.activation;
                return add_transformer(target, prefix, width, heads, how);
              });
}

#define RECURRENT_LAYER(kind)                                                                   \
  mt_layer* mt_layer_##kind(mt_parameters* parameters, const char* name, int64_t in,            \
                            int64_t hidden, int64_t layers, bool bias) {                        \
    return make("layer_" #kind, parameters, name,                                               \
                [&](Parameters& target, const std::string& prefix) -> Layer& {                  \
                  return add_recurrent(target, prefix, RecurrentKind::kind, in, hidden, layers, \
                                       bias);                                                   \
                });                                                                             \
  }
RECURRENT_LAYER(rnn)
RECURRENT_LAYER(gru)
RECURRENT_LAYER(lstm)
