// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/optim.h.
#include "mtorch/optim.h"

#include <cmath>

#include "api/guard.h"
#include "api/parameters.h"
#include "graph/modes.h"
#include "nn/clip.h"
#include "nn/optimizer.h"
#include "nn/rules.h"
#include "nn/schedule.h"

using namespace mt;
using namespace mt::api;

struct mt_optimizer {
  std::shared_ptr<Optimizer> optimizer;
};

namespace {

Optimizer& get(mt_optimizer* optimizer) { return *required(optimizer, "the optimizer")->optimizer; }

// rule() -> the options of its rule.
template <class Rule>
mt_optimizer* make(const char* name, mt_parameters* parameters, double rate, Rule&& rule) {
  return read<mt_optimizer*>(name, nullptr, [&] {
    collection(parameters);
    return new mt_optimizer{
        std::make_shared<Optimizer>(parameters->collection, rate, make_rule(rule()))};
  });
}

mt_optimizer* make_adam(const char* name, mt_parameters* parameters, double rate,
                        const mt_adam_options* given, const mt_adam_options& defaults,
                        bool decoupled) {
  return make(name, parameters, rate, [&] {
    mt_adam_options o = options(given, defaults);
    return AdamOptions{o.beta1, o.beta2, o.epsilon, o.weight_decay, decoupled};
  });
}

// All updates are recorded before any parameter changes: they fuse into few groups, and a step that
// fails has changed nothing.
void step_plainly(mt_tensor* const* params, size_t n, double lr) {
  GradientMode no_history(false);
  SmallVector<Tensor, 16> updated;
  PlainStep step(lr);
  for (size_t i = 0; i < n; ++i) {
    mt_tensor* leaf = required(params[i], "a tensor");
    Tensor w = value(leaf);
    if (has_history(w)) {
      fail(Code::invalid, "sgd: tensor %zu is no leaf: it came from %s", i, w->op->name);
    }
    Tensor g = leaf->variable && w.requires_gradient() ? leaf->variable->gradient.get() : Tensor();
    updated.push_back(g ? step.updated(w, g) : Tensor());
  }
  for (size_t i = 0; i < n; ++i) {
    if (updated[i]) rebind(params[i], std::move(updated[i]));
  }
}

}  // namespace

mt_optimizer* mt_optimizer_sgd(mt_parameters* parameters, double lr, const mt_sgd_options* given) {
  return make("optimizer_sgd", parameters, lr, [&] {
    mt_sgd_options o = options<mt_sgd_options>(given, MT_SGD_OPTIONS_INIT);
    return SgdOptions{o.momentum, o.dampening, o.weight_decay, o.nesterov};
  });
}

mt_optimizer* mt_optimizer_adam(mt_parameters* parameters, double lr,
                                const mt_adam_options* given) {
  return make_adam("optimizer_adam", parameters, lr, given, MT_ADAM_OPTIONS_INIT, false);
}

mt_optimizer* mt_optimizer_adamw(mt_parameters* parameters, double lr,
                                 const mt_adam_options* given) {
  return make_adam("optimizer_adamw", parameters, lr, given, MT_ADAMW_OPTIONS_INIT, true);
}

mt_optimizer* mt_optimizer_rmsprop(mt_parameters* parameters, double lr,
                                   const mt_rmsprop_options* given) {
  return make("optimizer_rmsprop", parameters, lr, [&] {
    mt_rmsprop_options o = options<mt_rmsprop_options>(given, MT_RMSPROP_OPTIONS_INIT);
    return RmspropOptions{o.smoothing, o.epsilon, o.momentum, o.weight_decay};
  });
}

mt_optimizer* mt_optimizer_adagrad(mt_parameters* parameters, double lr,
                                   const mt_adagrad_options* given) {
  return make("optimizer_adagrad", parameters, lr, [&] {
    mt_adagrad_options o = options<mt_adagrad_options>(given, MT_ADAGRAD_OPTIONS_INIT);
    return AdagradOptions{o.epsilon, o.initial, o.weight_decay};
  });
}

mt_status mt_optimizer_add(mt_optimizer* optimizer, mt_optimizer* group) {
  return change("optimizer_add",
                [&] { get(optimizer).add(required(group, "the group")->optimizer); });
}

mt_status mt_optimizer_step(mt_optimizer* optimizer) {
  return change("optimizer_step", [&] { get(optimizer).step(); });
}

int64_t mt_optimizer_steps(mt_optimizer* optimizer) {
  return read<int64_t>("optimizer_steps", 0, [&] { return get(optimizer).steps(); });
}

double mt_optimizer_learning_rate(mt_optimizer* optimizer) {
  return read<double>("optimizer_learning_rate", NAN,
                      [&] { return get(optimizer).learning_rate(); });
}

mt_status mt_optimizer_set_learning_rate(mt_optimizer* optimizer, double lr) {
  return change("optimizer_set_learning_rate", [&] { get(optimizer).set_learning_rate(lr); });
}

mt_parameters* mt_optimizer_state(mt_optimizer* optimizer) {
  return read<mt_parameters*>("optimizer_state", nullptr,
                              [&] { return new_parameters(get(optimizer).state()); });
}

mt_status mt_optimizer_set_state(mt_optimizer* optimizer, mt_parameters* state) {
  return change("optimizer_set_state", [&] {
    Optimizer& target = get(optimizer);
    target.set_state(collection(state).tensors());
  });
}

mt_status mt_optimizer_save(mt_optimizer* optimizer, const char* path) {
  return change("optimizer_save", [&] { get(optimizer).save(required(path, "the path")); });
}

mt_status mt_optimizer_load(mt_optimizer* optimizer, const char* path) {
  return change("optimizer_load", [&] { get(optimizer).load(required(path, "the path")); });
}

void mt_optimizer_release(mt_optimizer* optimizer) { delete optimizer; }

mt_tensor* mt_clip_grad_norm(mt_parameters* parameters, double max_norm) {
  if (error_pending()) return nullptr;
  return give("clip_grad_norm",
              [&] { return clip_gradient_norm(collection(parameters), max_norm); });
}

double mt_schedule_step(double lr, int64_t step, int64_t every, double factor) {
  return schedule_step(lr, step, every, factor);
}
double mt_schedule_cosine(double lr, int64_t step, int64_t steps, double lowest) {
  return schedule_cosine(lr, step, steps, lowest);
}
double mt_schedule_warmup(double lr, int64_t step, int64_t warmup) {
  return schedule_warmup(lr, step, warmup);
}
double mt_schedule_one_cycle(double lr, int64_t step, int64_t steps) {
  return schedule_one_cycle(lr, step, steps);
}

mt_status mt_sgd(mt_tensor* const* params, size_t n, double lr) {
  return change("sgd", [&] {
    if (n) required(params, "the array of tensors");
    if (!(std::isfinite(lr) && lr >= 0)) {
      fail(Code::invalid, "sgd: a learning rate of %g is not finite and >= 0", lr);
    }
    step_plainly(params, n, lr);
  });
}
