// SPDX-License-Identifier: Apache-2.0
// Update rules: how a step makes a new weight of an old one and its gradient.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "graph/node.h"

namespace mt {

struct SgdOptions {
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;  // AdamW's decay
};
struct RmspropOptions {
  double smoothing = 0.99, epsilon = 1e-8, momentum = 0, weight_decay = 0;
};
struct AdagradOptions {
  double epsilon = 1e-10, initial = 0, weight_decay = 0;
};

// The numbers of one step in one dtype, without dimensions; each is recorded once for all
// parameters.
class Numbers {
 public:
  Numbers(Dtype dtype, Device& device, const std::vector<Tensor>& shared);
  const Tensor& operator[](size_t i) const { return shared_[i]; }  // Rule::shared
  const Tensor& operator()(double value);                          // a constant

 private:
  struct Constant {
    double value;
    Tensor tensor;
  };
  Dtype dtype_;
  Device& device_;
  std::vector<Tensor> shared_;
  std::deque<Constant> constants_;
};

// One rule. A step asks it once for the numbers that all parameters share, then for each
// parameter's update; all of them are plain operators.
class Rule {
 public:
  struct StateKind {
    const char* name;
    double initial;
    bool is_number = false;  // without dimensions; else of the parameter's shape
  };
  virtual ~Rule() = default;
  virtual const char* name() const = 0;
  virtual std::vector<StateKind> states() const = 0;
  // Numbers without dimensions, float64, from the learning rate and the step (from 1).
  virtual std::vector<Tensor> shared(const Tensor& rate, const Tensor& step) const = 0;
  // The new weight; `states` are replaced. All in one dtype, float32 or float64.
  virtual Tensor update(Tensor weight, Tensor gradient, Numbers& numbers,
                        std::vector<Tensor>* states) const = 0;
};

std::unique_ptr<Rule> make_rule(const SgdOptions& options);
std::unique_ptr<Rule> make_rule(const AdamOptions& options);
std::unique_ptr<Rule> make_rule(const RmspropOptions& options);
std::unique_ptr<Rule> make_rule(const AdagradOptions& options);

// Gradient descent at its plainest, without an optimizer: w becomes w - rate * g.
class PlainStep {
 public:
  explicit PlainStep(double rate) : rate_(rate) {}
  // The new value of `w`. 16-bit floats are updated in float32 and rounded once.
  Tensor updated(const Tensor& w, const Tensor& gradient);

 private:
  double rate_;
  Tensor latest_;  // the rate as a tensor, for the parameters that follow alike
};

}  // namespace mt
