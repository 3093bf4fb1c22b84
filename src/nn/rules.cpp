// SPDX-License-Identifier: Apache-2.0
// The update rules, as include/mtorch/optim.h states them. There w is a weight, g its gradient, a
// the learning rate and t the step.
#include "nn/rules.h"

#include "base/error.h"
#include "ops/ops.h"

namespace mt {
namespace {

using States = std::vector<Tensor>;

void check(bool possible, const char* rule, const char* name, double value) {
  if (!possible) fail(Code::invalid, "%s: %s cannot be %g", rule, name, value);
}
void check_fraction(const char* rule, const char* name, double value) {
  check(value >= 0 && value < 1, rule, name, value);
}
void check_not_negative(const char* rule, const char* name, double value) {
  check(value >= 0 && value < __builtin_inf(), rule, name, value);
}

// What is divided by, where a gradient has been 0 all along.
void check_positive(const char* rule, const char* name, double value) {
  check(value > 0 && value < __builtin_inf(), rule, name, value);
}

Tensor decayed(const Tensor& g, const Tensor& w, double c, Numbers& n) {
  return c == 0 ? g : g + w * n(c);
}

class Sgd final : public Rule {
 public:
  explicit Sgd(const SgdOptions& options) : o_(options) {
    check_not_negative(name(), "momentum", o_.momentum);
    check(o_.dampening >= 0 && o_.dampening <= 1, name(), "dampening", o_.dampening);
    check_not_negative(name(), "weight_decay", o_.weight_decay);
    if (o_.nesterov && !(o_.momentum > 0 && o_.dampening == 0)) {
      fail(Code::invalid, "sgd: nesterov needs momentum > 0 and dampening 0, not %g and %g",
           o_.momentum, o_.dampening);
    }
  }
  const char* name() const override { return "sgd"; }
  std::vector<StateKind> states() const override {
    if (o_.momentum == 0) return {};
    if (o_.dampening == 0) return {{"velocity", 0}};
    return {{"velocity", 0}, {"begun", 0, true}};
  }
  std::vector<Tensor> shared(const Tensor& a, const Tensor&) const override { return {a}; }
  Tensor update(Tensor w, Tensor g, Numbers& n, States* states) const override {
    g = decayed(g, w, o_.weight_decay, n);
    if (o_.momentum == 0) return w - n[0] * g;
    Tensor& v = (*states)[0];
    if (o_.dampening == 0) {
      v = v * n(o_.momentum) + g;
    } else {  // a parameter's first step is not dampened
      Tensor& begun = (*states)[1];
      Tensor first = equal(expand(begun, g.shape()), n(0));  // so that the update is one group
      v = v * n(o_.momentum) + where(first, g, g * n(1 - o_.dampening));
      begun = n(1);
    }
    return w - n[0] * (o_.nesterov ? g + v * n(o_.momentum) : v);
  }

 private:
  SgdOptions o_;
};

class Adam final : public Rule {
 public:
  explicit Adam(const AdamOptions& options) : o_(options) {
    check_fraction(name(), "beta1", o_.beta1);
    check_fraction(name(), "beta2", o_.beta2);
    check_positive(name(), "epsilon", o_.epsilon);
    check_not_negative(name(), "weight_decay", o_.weight_decay);
  }
  const char* name() const override { return o_.decoupled ? "adamw" : "adam"; }
  std::vector<StateKind> states() const override { return {{"mean", 0}, {"square", 0}}; }
  // What corrects the step size and the second moment's root, and what remains after decay.
  std::vector<Tensor> shared(const Tensor& a, const Tensor& t) const override {
    auto correction = [&](double beta) { return 1.0 - pow(number(beta, t.device()), t); };
    std::vector<Tensor> result{a / correction(o_.beta1), 1.0 / sqrt(correction(o_.beta2))};
    if (o_.decoupled) result.push_back(1.0 - a * o_.weight_decay);
    return result;
  }
  Tensor update(Tensor w, Tensor g, Numbers& n, States* states) const override {
    if (!o_.decoupled) g = decayed(g, w, o_.weight_decay, n);
    Tensor &m = (*states)[0], &v = (*states)[1];
    m = m * n(o_.beta1) + g * n(1 - o_.beta1);
    v = v * n(o_.beta2) + g * g * n(1 - o_.beta2);
    Tensor change = n[0] * (m / (sqrt(v) * n[1] + n(o_.epsilon)));
    // Times 1 if all of it remains: of one form, which is one step of a program.
    return w * (o_.decoupled && o_.weight_decay != 0 ? n[2] : n(1)) - change;
  }

 private:
  AdamOptions o_;
};

class Rmsprop final : public Rule {
 public:
  explicit Rmsprop(const RmspropOptions& options) : o_(options) {
    check(o_.smoothing >= 0 && o_.smoothing <= 1, name(), "smoothing", o_.smoothing);
    check_positive(name(), "epsilon", o_.epsilon);
    check_not_negative(name(), "momentum", o_.momentum);
    check_not_negative(name(), "weight_decay", o_.weight_decay);
  }
  const char* name() const override { return "rmsprop"; }
  std::vector<StateKind> states() const override {
    if (o_.momentum == 0) return {{"square", 0}};
    return {{"square", 0}, {"velocity", 0}};
  }
  std::vector<Tensor> shared(const Tensor& a, const Tensor&) const override { return {a}; }
  Tensor update(Tensor w, Tensor g, Numbers& n, States* states) const override {
    g = decayed(g, w, o_.weight_decay, n);
    Tensor& v = (*states)[0];
    v = v * n(o_.smoothing) + g * g * n(1 - o_.smoothing);
    Tensor scaled = g / (sqrt(v) + n(o_.epsilon));
    if (o_.momentum == 0) return w - n[0] * scaled;
    Tensor& b = (*states)[1];
    b = b * n(o_.momentum) + scaled;
    return w - n[0] * b;
  }

 private:
  RmspropOptions o_;
};

class Adagrad final : public Rule {
 public:
  explicit Adagrad(const AdagradOptions& options) : o_(options) {
    check_positive(name(), "epsilon", o_.epsilon);
    check_not_negative(name(), "initial", o_.initial);
    check_not_negative(name(), "weight_decay", o_.weight_decay);
  }
  const char* name() const override { return "adagrad"; }
  std::vector<StateKind> states() const override { return {{"square", o_.initial}}; }
  std::vector<Tensor> shared(const Tensor& a, const Tensor&) const override { return {a}; }
  Tensor update(Tensor w, Tensor g, Numbers& n, States* states) const override {
    g = decayed(g, w, o_.weight_decay, n);
    Tensor& v = (*states)[0];
    v = v + g * g;
    return w - n[0] * (g / (sqrt(v) + n(o_.epsilon)));
  }

 private:
  AdagradOptions o_;
};

}  // namespace

Numbers::Numbers(Dtype dtype, Device& device, const std::vector<Tensor>& shared)
    : dtype_(dtype), device_(device) {
  for (const Tensor& tensor : shared) shared_.push_back(cast(tensor, dtype));
}

const Tensor& Numbers::operator()(double value) {
  for (const Constant& known : constants_) {
    if (known.value == value) return known.tensor;
  }
  constants_.push_back({value, full({}, value, dtype_, device_)});
  return constants_.back().tensor;
}

std::unique_ptr<Rule> make_rule(const SgdOptions& options) {
  return std::make_unique<Sgd>(options);
}
std::unique_ptr<Rule> make_rule(const AdamOptions& options) {
  return std::make_unique<Adam>(options);
}
std::unique_ptr<Rule> make_rule(const RmspropOptions& options) {
  return std::make_unique<Rmsprop>(options);
}
std::unique_ptr<Rule> make_rule(const AdagradOptions& options) {
  return std::make_unique<Adagrad>(options);
}

Tensor PlainStep::updated(const Tensor& w, const Tensor& gradient) {
  const Dtype own = w.dtype(), working = accumulator_of(own);
  if (!latest_ || latest_.dtype() != working || &latest_.device() != &w.device()) {
    latest_ = full({}, rate_, working, w.device());
  }
  if (own == working) return w - gradient * latest_;
  return cast(cast(w, working) - cast(gradient, working) * latest_, own);
}

}  // namespace mt
