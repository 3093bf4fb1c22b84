// SPDX-License-Identifier: Apache-2.0
/// @file optim.hpp
/// Training: optimizers and plain steps. See mtorch.hpp.
#ifndef MTORCH_OPTIM_HPP_
#define MTORCH_OPTIM_HPP_

#include <memory>
#include <string>

#include "nn.hpp"
#include "optim.h"

namespace mtorch {

/// mt_sgd_options.
struct SgdOptions {
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
/// mt_adam_options.
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
};
/// mt_adam_options with MT_ADAMW_OPTIONS_INIT.
struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01;
};
/// mt_rmsprop_options.
struct RmspropOptions {
  double smoothing = 0.99, epsilon = 1e-8, momentum = 0, weight_decay = 0;
};
/// mt_adagrad_options.
struct AdagradOptions {
  double epsilon = 1e-10, initial = 0, weight_decay = 0;
};

/// One plain step: w = w - lr g.
inline void sgd(const Tensors& leaves, double lr) {
  check(mt_sgd(detail::handles(leaves).data(), leaves.size(), lr));
}

/// An update rule and its state, for the parameters of one collection.
class Optimizer {
 public:
  static Optimizer sgd(const Parameters& p, double lr, const SgdOptions& options = {}) {
    mt_sgd_options o{sizeof o, options.momentum, options.dampening, options.weight_decay,
                     options.nesterov};
    return Optimizer(mt_optimizer_sgd(p.get(), lr, &o));
  }
  static Optimizer adam(const Parameters& p, double lr = 1e-3, const AdamOptions& options = {}) {
    mt_adam_options o{sizeof o, options.beta1, options.beta2, options.epsilon,
                      options.weight_decay};
    return Optimizer(mt_optimizer_adam(p.get(), lr, &o));
  }
  static Optimizer adamw(const Parameters& p, double lr = 1e-3, const AdamWOptions& options = {}) {
    mt_adam_options o{sizeof o, options.beta1, options.beta2, options.epsilon,
                      options.weight_decay};
    return Optimizer(mt_optimizer_adamw(p.get(), lr, &o));
  }
  static Optimizer rmsprop(const Parameters& p, double lr = 1e-2,
                           const RmspropOptions& options = {}) {
    mt_rmsprop_options o{sizeof o, options.smoothing, options.epsilon, options.momentum,
                         options.weight_decay};
    return Optimizer(mt_optimizer_rmsprop(p.get(), lr, &o));
  }
  static Optimizer adagrad(const Parameters& p, double lr = 1e-2,
                           const AdagradOptions& options = {}) {
    mt_adagrad_options o{sizeof o, options.epsilon, options.initial, options.weight_decay};
    return Optimizer(mt_optimizer_adagrad(p.get(), lr, &o));
  }

  /// mt_optimizer_add(): from now on a step is one of both, and the group's rate follows.
  void add(const Optimizer& group) const { check(mt_optimizer_add(get(), group.get())); }
  void step() const { check(mt_optimizer_step(get())); }
  int64_t steps() const { return mt_optimizer_steps(get()); }
  double learning_rate() const { return mt_optimizer_learning_rate(get()); }
  void set_learning_rate(double lr) const { check(mt_optimizer_set_learning_rate(get(), lr)); }
  /// All that a later step depends on, by name.
  Parameters state() const { return Parameters(mt_optimizer_state(get())); }
  void set_state(const Parameters& state) const {
    check(mt_optimizer_set_state(get(), state.get()));
  }
  void save(const std::string& path) const { check(mt_optimizer_save(get(), detail::text(path))); }
  void load(const std::string& path) const { check(mt_optimizer_load(get(), detail::text(path))); }
  /// For C functions; still owned by this.
  mt_optimizer* get() const { return handle_.get(); }

 private:
  explicit Optimizer(mt_optimizer* result)
      : handle_(detail::required(result), mt_optimizer_release) {}
  std::shared_ptr<mt_optimizer> handle_;
};

inline double schedule_step(double lr, int64_t step, int64_t every, double factor) {
  return mt_schedule_step(lr, step, every, factor);
}
inline double schedule_cosine(double lr, int64_t step, int64_t steps, double lowest = 0) {
  return mt_schedule_cosine(lr, step, steps, lowest);
}
inline double schedule_warmup(double lr, int64_t step, int64_t warmup) {
  return mt_schedule_warmup(lr, step, warmup);
}
inline double schedule_one_cycle(double lr, int64_t step, int64_t steps) {
  return mt_schedule_one_cycle(lr, step, steps);
}

}  // namespace mtorch

#endif
