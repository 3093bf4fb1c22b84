// SPDX-License-Identifier: Apache-2.0
#include "autodiff/checkpoint.h"

#include "autodiff/backward.h"
#include "autodiff/call.h"
#include "base/error.h"
#include "graph/modes.h"
#include "graph/replay.h"
#include "graph/tape.h"
#include "ops/ops.h"

namespace mt {
namespace {

// A stand-in for an input of the segment, at which the gradient within the segment stops.
Tensor stand_in(const Tensor& input, bool differentiable) {
  if (differentiable) return alias(input);
  Tensor leaf = detach(input);
  leaf->requires_gradient = true;
  return leaf;
}

class Segment final : public Call {
 public:
  // `steps`: the segment's operators, without values. `ends`: for each result, the step that makes
  // it, or the result itself if it comes from outside.
  Segment(std::vector<Tensor> steps, std::vector<Tensor> ends, std::vector<Tensor> values)
      : steps_(std::move(steps)), ends_(std::move(ends)), values_(std::move(values)) {}

  std::vector<Tensor> gradient(const Node& call, const std::vector<Tensor>&,
                               const std::vector<Tensor>& result_gradients) override {
    bool differentiable = gradient_mode();
    Replacements values;
    std::vector<Tensor> inputs, outputs, seeds;
    {
      GradientMode with_history(true);
      for (const Tensor& input : call.inputs) {
        inputs.push_back(stand_in(input, differentiable));
        values[input.node()] = inputs.back();
      }
      replay(steps_, &values, true);
    }
    for (size_t i = 0; i < ends_.size(); ++i) {
      auto found = values.find(ends_[i].node());
      if (!result_gradients[i] || found == values.end()) continue;
      if (!found->second.requires_gradient()) continue;
      outputs.push_back(found->second);
      seeds.push_back(result_gradients[i]);
    }
    if (outputs.empty()) return std::vector<Tensor>(inputs.size());
    return gradients(outputs, seeds, inputs);
  }

  Tensor again(const Node& call, const std::vector<Tensor>&) override {
    fail(Code::unsupported, "%s: a call by itself cannot be recorded again", call.op->name);
  }

  const std::vector<Tensor>& values() const override { return values_; }

 private:
  std::vector<Tensor> steps_, ends_, values_;
};

}  // namespace

std::vector<Tensor> checkpoint(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function,
    const std::vector<Tensor>& inputs) {
  if (!gradient_mode()) return function(inputs);
  Tape tape;
  std::vector<Tensor> results;
  {
    GradientMode no_history(false);
    tape.begin();
    results = function(inputs);
    tape.end();
  }

  // Everything from outside that requires a gradient is an input of the call, whether it was passed
  // in or captured by the function.
  Inputs outside;
  std::vector<Tensor> nodes, ends;
  for (const Tape::Entry& entry : tape.entries()) {
    if (!entry.outside)
      nodes.push_back(entry.node);
    else if (entry.node.requires_gradient())
      outside.push_back(entry.node);
  }
  std::vector<Tensor> steps = without_values(nodes);
  for (const Tensor& result : results) {
    int64_t index = tape.index_of(result);
    Tensor end = result;
    for (size_t i = 0; index >= 0 && i < nodes.size(); ++i) {
      if (nodes[i].node() == result.node()) end = steps[i];
    }
    if (index < 0 && result.requires_gradient()) outside.push_back(result);
    ends.push_back(end);
  }
  if (outside.empty()) return results;

  std::vector<Tensor> values;
  for (const Tensor& result : results) {
    values.push_back(result.requires_gradient() ? detach(result) : result);
  }
  Tensor call;
  {
    TapePause no_tape;  // tapes already show what the function recorded
    call = record_call("checkpoint", std::make_unique<Segment>(steps, ends, values),
                       std::move(outside), results[0].device());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = call_result(call, values[i], i, true);
  }
  return results;
}

}  // namespace mt
