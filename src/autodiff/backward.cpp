// SPDX-License-Identifier: Apache-2.0
#include "autodiff/backward.h"

#include <algorithm>
#include <unordered_map>

#include "graph/record.h"
#include "graph/variable.h"
#include "ops/ops.h"
#include "tensor/error.h"

namespace mt {
namespace {

// The nodes that lie between `outputs` and what requires a gradient, inputs before consumers.
// Iterative: histories can be longer than a stack is deep.
std::vector<Tensor> history(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> sorted;
  std::unordered_map<const Node*, bool> seen;
  struct Frame {
    Tensor node;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  auto push = [&](const Tensor& node) {
    if (node && node->history_forgotten) {
      fail(Code::no_gradient,
           "backward: the history of %s%s has been forgotten after an earlier backward; retain it "
           "there",
           node->op->name, to_string(node.shape()).c_str());
    }
    if (node && node.requires_gradient() && seen.emplace(node.node(), true).second) {
      stack.push_back({node});
    }
  };
  for (const Tensor& output : outputs) {
    push(output);
    while (!stack.empty()) {
      Frame& top = stack.back();
      // A leaf ends the history, whatever computed its value.
      if (!top.node->variable && top.next < top.node->inputs.size()) {
        Tensor input = top.node->inputs[top.next++];
        push(input);
      } else {
        sorted.push_back(std::move(top.node));
        stack.pop_back();
      }
    }
  }
  return sorted;
}

// An operator without gradient among the pending ones that `output` came from and that a gradient
// would have to pass; nullptr when there is none, or when it has been computed and forgotten.
const Op* operator_without_gradient(const Tensor& output) {
  std::vector<Tensor> nodes{output};
  for (size_t i = 0; i < nodes.size() && nodes.size() < 1000; ++i) {
    Tensor node = nodes[i];
    for (const Tensor& input : node->inputs) {
      if (input.requires_gradient()) return node->op;
      nodes.push_back(input);
    }
  }
  return nullptr;
}

Tensor seed_of(const Tensor& output, const Tensor& seed) {
  if (!output.requires_gradient()) {
    if (const Op* op = operator_without_gradient(output)) {
      fail(Code::no_gradient, "backward: %s%s came through %s, which has no gradient",
           output->op->name, to_string(output.shape()).c_str(), op->name);
    }
    fail(Code::no_gradient, "backward: %s%s does not depend on anything that requires a gradient",
         output->op->name, to_string(output.shape()).c_str());
  }
  if (!seed) {
    if (output.size() != 1) {
      fail(Code::shape, "backward: a gradient must be given for a result of shape %s",
           to_string(output.shape()).c_str());
    }
    return ones_like(output);
  }
  if (seed.shape() != output.shape()) {
    fail(Code::shape, "backward: the gradient given has shape %s, the result %s",
         to_string(seed.shape()).c_str(), to_string(output.shape()).c_str());
  }
  return cast(seed, output.dtype());
}

thread_local std::unordered_map<const Node*, CallGradients>* calls_in_progress = nullptr;

// What arrives at the results of calls, for as long as one walk lasts; walks nest.
class CallsOfWalk {
 public:
  CallsOfWalk() : outer_(calls_in_progress) { calls_in_progress = &calls_; }
  ~CallsOfWalk() { calls_in_progress = outer_; }
  CallsOfWalk(const CallsOfWalk&) = delete;

 private:
  std::unordered_map<const Node*, CallGradients> calls_;
  std::unordered_map<const Node*, CallGradients>* outer_;
};

// Walks `order` backwards and returns what has been collected for each node.
using Collected = std::unordered_map<const Node*, Tensor>;
Collected walk(const std::vector<Tensor>& order, const std::vector<Tensor>& outputs,
               const std::vector<Tensor>& seeds, const std::vector<Tensor>& keep) {
  CallsOfWalk calls;
  Collected collected;
  auto collect = [&](const Tensor& node, const Tensor& gradient) {
    Tensor& sum = collected[node.node()];
    sum = sum ? add(sum, gradient) : gradient;
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    collect(outputs[i], seed_of(outputs[i], i < seeds.size() ? seeds[i] : nullptr));
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = *it->node();
    if (!node.op->gradient || node.inputs.empty() || node.variable) continue;
    auto found = collected.find(&node);
    if (found == collected.end()) continue;
    Tensor dy = found->second;
    bool kept = std::any_of(keep.begin(), keep.end(),
                            [&](const Tensor& tensor) { return tensor.node() == &node; });
    if (!kept) found->second = nullptr;  // its memory may be used again
    SmallVector<Tensor, 4> gradients;
    for (size_t i = 0; i < node.inputs.size(); ++i) gradients.push_back(nullptr);
    node.op->gradient(node, dy, gradients.data());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (gradients[i] && node.inputs[i].requires_gradient()) {
        collect(node.inputs[i], gradients[i]);
      }
    }
  }
  return collected;
}

}  // namespace

CallGradients& gradients_of_call(const Node* call) { return (*calls_in_progress)[call]; }

std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& seeds,
                              const std::vector<Tensor>& inputs) {
  Collected collected = walk(history(outputs), outputs, seeds, inputs);
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    auto found = collected.find(input.node());
    bool reached = found != collected.end() && found->second;
    if (!reached && keeps_operands(*input.node()) && input.requires_gradient()) {
      // A sum of it was recorded as a contraction of its operands, which goes past it.
      fail(Code::no_gradient,
           "gradient: the product %s is summed without ever being formed; ask for the gradients of "
           "its factors, or copy it first",
           to_string(input.shape()).c_str());
    }
    result.push_back(reached ? found->second : nullptr);
  }
  return result;
}

void backward(const Tensor& output, const Tensor& seed, bool retain, bool differentiable) {
  std::vector<Tensor> order = history({output});
  std::vector<Tensor> leaves;
  for (const Tensor& node : order) {
    if (node->variable) leaves.push_back(node);
  }
  {
    GradientMode mode(differentiable && gradient_mode());
    Collected collected = walk(order, {output}, {seed}, {});  // what arrives at leaves stays
    // All sums are recorded before any gradient changes: a call that fails has changed nothing.
    // A leaf bound anew in between has several values here, and one gradient.
    std::unordered_map<Variable*, Tensor> sums;
    for (const Tensor& leaf : leaves) {
      const Tensor& gradient = collected[leaf.node()];
      Variable* variable = leaf->variable.get();
      if (!gradient || variable->abandoned()) continue;
      Tensor& sum = sums[variable];
      if (!sum) sum = variable->gradient.get();
      sum = sum ? add(sum, gradient) : gradient;
    }
    for (auto& [variable, sum] : sums) {
      if (!variable->abandoned()) variable->gradient.set(std::move(sum));
    }
  }
  if (retain || differentiable) return;
  for (const Tensor& node : order) {
    if (node->variable) continue;
    node->requires_gradient = false;
    node->history_forgotten = true;
    // Once computed, these need their inputs no longer, unless a tape shows them or a sum may.
    if (node->tapes || keeps_operands(*node.node())) continue;
    node->keeps_inputs = false;
    if (node->ready()) node->inputs.clear();
  }
}

}  // namespace mt
