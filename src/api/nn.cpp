// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/nn.h that need no layer: functions, losses and initialisers.
#include "mtorch/nn.h"

#include "api/guard.h"
#include "graph/modes.h"
#include "ops/initialize.h"
#include "ops/ops.h"
#include "ops/random.h"

using namespace mt::api;
using mt::Tensor;

mt_tensor* mt_softmax(mt_tensor* x, int64_t axis) {
  return give("softmax", [&] { return mt::softmax(value(x), axis); });
}
mt_tensor* mt_log_softmax(mt_tensor* x, int64_t axis) {
  return give("log_softmax", [&] { return mt::log_softmax(value(x), axis); });
}

mt_tensor* mt_layer_norm(mt_tensor* x, size_t naxes, mt_tensor* weight, mt_tensor* bias,
                         double epsilon) {
  return give("layer_norm", [&] {
    return mt::layer_norm(value(x), small(static_cast<int64_t>(naxes)), optional_value(weight),
                          optional_value(bias), epsilon);
  });
}
mt_tensor* mt_group_norm(mt_tensor* x, int64_t groups, mt_tensor* weight, mt_tensor* bias,
                         double epsilon) {
  return give("group_norm", [&] {
    return mt::group_norm(value(x), groups, optional_value(weight), optional_value(bias), epsilon);
  });
}
mt_tensor* mt_rms_norm(mt_tensor* x, size_t naxes, mt_tensor* weight, double epsilon) {
  return give("rms_norm", [&] {
    return mt::rms_norm(value(x), small(static_cast<int64_t>(naxes)), optional_value(weight),
                        epsilon);
  });
}

mt_tensor* mt_batch_norm(mt_tensor* x, mt_tensor* weight, mt_tensor* bias, mt_tensor* running_mean,
                         mt_tensor* running_var, const mt_batch_norm_options* given) {
  static const mt_batch_norm_options defaults = MT_BATCH_NORM_OPTIONS_INIT;
  const bool training = given ? given->training : defaults.training;
  if (training && error_pending()) return nullptr;  // it would change the statistics
  return give("batch_norm", [&] {
    mt_batch_norm_options o = options(given, defaults);
    mt::BatchNorm result = mt::batch_norm(value(x), optional_value(weight), optional_value(bias),
                                          optional_value(running_mean), optional_value(running_var),
                                          o.training, o.momentum, o.epsilon);
    for (mt_tensor* statistics : {running_mean, running_var}) {
      if (o.training && statistics) make_state(statistics);  // both change, or none
    }
    if (o.training && running_mean) rebind(running_mean, result.running_mean);
    if (o.training && running_var) rebind(running_var, result.running_var);
    return result.y;
  });
}

mt_tensor* mt_dropout(mt_tensor* x, double probability, bool training) {
  return give("dropout", [&] { return mt::dropout(value(x), probability, training); });
}

mt_tensor* mt_categorical(mt_tensor* logits, int64_t axis) {
  return give("categorical", [&] { return mt::categorical(value(logits), axis); });
}

mt_tensor* mt_embedding(mt_tensor* indices, mt_tensor* weight) {
  return give("embedding", [&] { return mt::embedding(value(indices), value(weight)); });
}

mt_tensor* mt_scaled_dot_product_attention(mt_tensor* query, mt_tensor* key, mt_tensor* value_,
                                           mt_tensor* mask, const mt_attention_options* given) {
  return give("scaled_dot_product_attention", [&] {
    static const mt_attention_options defaults = MT_ATTENTION_OPTIONS_INIT;
    mt_attention_options o = options(given, defaults);
    return mt::attention(value(query), value(key), value(value_), optional_value(mask),
                         {o.causal, o.scale, o.dropout, o.training});
  });
}

namespace {

mt::LossReduction loss_reduction(int32_t code) {
  if (code < MT_REDUCTION_MEAN || code > MT_REDUCTION_NONE) {
    throw ArgumentError(mt::Code::invalid, std::to_string(code) + " is no reduction");
  }
  return static_cast<mt::LossReduction>(code);
}

}  // namespace

mt_tensor* mt_cross_entropy(mt_tensor* logits, mt_tensor* targets, int64_t axis,
                            int32_t reduction) {
  return give("cross_entropy", [&] {
    return mt::cross_entropy(value(logits), value(targets), axis, loss_reduction(reduction));
  });
}
mt_tensor* mt_cross_entropy_with(mt_tensor* logits, mt_tensor* targets, int64_t axis,
                                 int32_t reduction, mt_tensor* weight,
                                 const mt_cross_entropy_options* given) {
  return give("cross_entropy_with", [&] {
    static const mt_cross_entropy_options defaults = MT_CROSS_ENTROPY_OPTIONS_INIT;
    mt_cross_entropy_options o = options(given, defaults);
    mt::CrossEntropy how{loss_reduction(reduction), optional_value(weight), std::nullopt,
                         o.label_smoothing};
    if (o.ignore_index != MT_NO_CLASS) how.ignored = o.ignore_index;
    return mt::cross_entropy(value(logits), value(targets), axis, how);
  });
}
mt_tensor* mt_l1_loss(mt_tensor* x, mt_tensor* target, int32_t reduction) {
  return give("l1_loss",
              [&] { return mt::l1_loss(operand(x), operand(target), loss_reduction(reduction)); });
}
mt_tensor* mt_huber_loss(mt_tensor* x, mt_tensor* target, double delta, int32_t reduction) {
  return give("huber_loss", [&] {
    return mt::huber_loss(operand(x), operand(target), delta, loss_reduction(reduction));
  });
}
mt_tensor* mt_mse_loss(mt_tensor* x, mt_tensor* target, int32_t reduction) {
  return give("mse_loss",
              [&] { return mt::mse_loss(operand(x), operand(target), loss_reduction(reduction)); });
}
mt_tensor* mt_bce_with_logits(mt_tensor* x, mt_tensor* target, int32_t reduction) {
  return give("bce_with_logits", [&] {
    return mt::bce_with_logits(operand(x), operand(target), loss_reduction(reduction));
  });
}
mt_tensor* mt_bce_with_logits_weighted(mt_tensor* x, mt_tensor* target, mt_tensor* positive_weight,
                                       int32_t reduction) {
  return give("bce_with_logits_weighted", [&] {
    return mt::bce_with_logits(operand(x), operand(target), operand(positive_weight),
                               loss_reduction(reduction));
  });
}

namespace {

// make(shape, dtype, device) -> the new value of x.
template <class Make>
mt_status initialize(const char* name, mt_tensor* x, Make&& make) {
  return change(name, [&] {
    mt::Tensor old = required(x, "a tensor")->peek();
    if (!mt::is_floating(old.dtype())) {
      mt::fail(mt::Code::dtype, "%s: needs floats, got %s", name, mt::name_of(old.dtype()));
    }
    mt::GradientMode none(false);
    make_state(x);  // what can fail comes before random numbers are drawn
    rebind(x, make(old.shape(), old.dtype(), old.device()));
  });
}

}  // namespace

mt_status mt_init_uniform(mt_tensor* x, double low, double high) {
  return initialize("init_uniform", x, [&](auto& shape, auto dtype, auto& device) {
    return mt::uniform(shape, low, high, dtype, device);
  });
}
mt_status mt_init_normal(mt_tensor* x, double mean, double deviation) {
  return initialize("init_normal", x, [&](auto& shape, auto dtype, auto& device) {
    return mt::normal(shape, mean, deviation, dtype, device);
  });
}
mt_status mt_init_xavier_uniform(mt_tensor* x, double gain) {
  return initialize("init_xavier_uniform", x, [&](auto& shape, auto dtype, auto& device) {
    return mt::xavier_uniform(shape, gain, dtype, device);
  });
}
mt_status mt_init_xavier_normal(mt_tensor* x, double gain) {
  return initialize("init_xavier_normal", x, [&](auto& shape, auto dtype, auto& device) {
    return mt::xavier_normal(shape, gain, dtype, device);
  });
}
mt_status mt_init_kaiming_uniform(mt_tensor* x, double slope) {
  return initialize("init_kaiming_uniform", x, [&](auto& shape, auto dtype, auto& device) {
    return mt::kaiming_uniform(shape, slope, dtype, device);
  });
}
mt_status mt_init_kaiming_normal(mt_tensor* x, double slope) {
  return initialize("init_kaiming_normal", x, [&](auto& shape, auto dtype, auto& device) {
    return mt::kaiming_normal(shape, slope, dtype, device);
  });
}
mt_status mt_init_orthogonal(mt_tensor* x, double gain) {
  return initialize("init_orthogonal", x, [&](auto& shape, auto dtype, auto& device) {
    return mt::orthogonal(shape, gain, dtype, device);
  });
}

namespace {

mt_status run_recurrent(const char* name, mt::RecurrentKind kind, mt_tensor* x, mt_tensor* state,
                        mt_tensor* cell, std::array<mt_tensor*, 4> weights,
                        const std::array<mt_tensor**, 3>& wanted) {
  return give_wanted<3>(name, wanted, [&]() -> std::array<mt::Tensor, 3> {
    mt::Recurrent all = mt::recurrent(kind, value(x), optional_value(state), optional_value(cell),
                                      {value(weights[0]), value(weights[1]),
                                       optional_value(weights[2]), optional_value(weights[3])});
    return {all.y, all.state, all.cell};
  });
}

}  // namespace

mt_status mt_rnn(mt_tensor* x, mt_tensor* state, mt_tensor* weight_ih, mt_tensor* weight_hh,
                 mt_tensor* bias_ih, mt_tensor* bias_hh, mt_tensor** y, mt_tensor** last) {
  return run_recurrent("rnn", mt::RecurrentKind::rnn, x, state, nullptr,
                       {weight_ih, weight_hh, bias_ih, bias_hh}, {y, last, nullptr});
}
mt_status mt_gru(mt_tensor* x, mt_tensor* state, mt_tensor* weight_ih, mt_tensor* weight_hh,
                 mt_tensor* bias_ih, mt_tensor* bias_hh, mt_tensor** y, mt_tensor** last) {
  return run_recurrent("gru", mt::RecurrentKind::gru, x, state, nullptr,
                       {weight_ih, weight_hh, bias_ih, bias_hh}, {y, last, nullptr});
}
mt_status mt_lstm(mt_tensor* x, mt_tensor* state, mt_tensor* cell, mt_tensor* weight_ih,
                  mt_tensor* weight_hh, mt_tensor* bias_ih, mt_tensor* bias_hh, mt_tensor** y,
                  mt_tensor** last, mt_tensor** last_cell) {
  return run_recurrent("lstm", mt::RecurrentKind::lstm, x, state, cell,
                       {weight_ih, weight_hh, bias_ih, bias_hh}, {y, last, last_cell});
}
