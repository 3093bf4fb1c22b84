// SPDX-License-Identifier: Apache-2.0
#include "autodiff/custom.h"

#include "autodiff/call.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "graph/tape.h"
#include "graph/trace_log.h"
#include "graph/window.h"
#include "ops/ops.h"

namespace mt {
namespace {

std::vector<Tensor> run_forward(CustomOperator& operation, const std::vector<Tensor>& inputs) {
  bool traced = TraceLog::current();
  if (!traced) evaluate(inputs.data(), inputs.size());
  GradientMode no_history(false);
  TapePause no_tape;
  std::vector<Tensor> results = operation.forward(inputs);
  if (!traced) evaluate(results.data(), results.size());
  for (Tensor& result : results) {
    if (result.requires_gradient()) result = detach(result);
  }
  return results;
}

Tensor record_custom(const std::shared_ptr<CustomOperator>& operation,
                     const std::vector<Tensor>& inputs, std::vector<Tensor> values);

class CustomCall final : public Call {
 public:
  CustomCall(std::shared_ptr<CustomOperator> operation, std::vector<Tensor> values)
      : operation_(std::move(operation)), values_(std::move(values)) {}

  std::vector<Tensor> gradient(const Node& call, const std::vector<Tensor>& results,
                               const std::vector<Tensor>& gradients) override {
    std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
    std::vector<Tensor> y(values_.size()), dy;
    for (size_t i = 0; i < values_.size(); ++i) {
      y[i] = results[i] ? results[i] : with_history(call, i);
      dy.push_back(gradients[i] ? gradients[i] : zeros_like(values_[i]));
    }
    std::vector<Tensor> found = operation_->backward(inputs, y, dy);
    for (size_t i = 0; i < inputs.size(); ++i) check(inputs[i], found[i], i);
    return found;
  }

  Tensor again(const Node&, const std::vector<Tensor>& inputs) override {
    return record_custom(operation_, inputs, run_forward(*operation_, inputs));
  }

  const std::vector<Tensor>& values() const override { return values_; }

 private:
  // A result that no gradient has reached, with a history for gradients of the gradient.
  Tensor with_history(const Node& call, size_t i) const {
    if (!gradient_mode() || !is_floating(values_[i].dtype())) return values_[i];
    return call_result(Tensor(const_cast<Node*>(&call)), values_[i], i, false);
  }

  void check(const Tensor& input, const Tensor& gradient, size_t i) const {
    const char* name = operation_->name.c_str();
    if (!gradient) return;
    if (gradient.shape() != input.shape()) {
      fail(Code::shape, "%s: backward gave input %zu of shape %s a gradient of shape %s", name, i,
           to_string(input.shape()).c_str(), to_string(gradient.shape()).c_str());
    }
    if (gradient.dtype() != input.dtype()) {
      fail(Code::dtype, "%s: backward gave input %zu of %s a gradient of %s", name, i,
           name_of(input.dtype()), name_of(gradient.dtype()));
    }
  }

  std::shared_ptr<CustomOperator> operation_;
  std::vector<Tensor> values_;
};

Tensor record_custom(const std::shared_ptr<CustomOperator>& operation,
                     const std::vector<Tensor>& inputs, std::vector<Tensor> values) {
  Device& device = (values.empty() ? inputs : values)[0].device();
  return record_call(operation->name.c_str(),
                     std::make_unique<CustomCall>(operation, std::move(values)),
                     Inputs(inputs.data(), inputs.size()), device);
}

}  // namespace

std::vector<Tensor> apply_custom(const std::shared_ptr<CustomOperator>& operation,
                                 const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values = run_forward(*operation, inputs);
  bool needs_gradient = false;
  for (const Tensor& input : inputs) needs_gradient |= input.requires_gradient();
  needs_gradient &= gradient_mode();
  bool on_tape = !TraceLog::current() && Window::current().recording_tapes > 0;
  if (values.empty() || inputs.empty() || !(needs_gradient || on_tape)) return values;
  Tensor call = record_custom(operation, inputs, values);
  std::vector<Tensor> results;
  for (size_t i = 0; i < values.size(); ++i)
    results.push_back(call_result(call, values[i], i, false));
  return results;
}

}  // namespace mt
