// SPDX-License-Identifier: Apache-2.0
#include "autodiff/backward.h"

#include <mutex>
#include <span>
#include <unordered_map>

#include "autodiff/gradient_sum.h"
#include "autodiff/shared_weights.h"
#include "base/error.h"
#include "graph/history.h"
#include "graph/modes.h"
#include "graph/variable.h"
#include "ops/ops.h"
#include "ops/rows_by_weight.h"
#include "ops/shared_numbers.h"
#include "ops/slice.h"

namespace mt {
namespace {

Tensor seed_of(const char* name, const Tensor& output, const Tensor& seed) {
  if (!output.requires_gradient()) {
    const HistoryEnd end = end_of_history(output);
    if (end.op) {
      fail(Code::no_gradient, "%s: %s%s came through %s, which %s", name, output->op->name,
           to_string(output.shape()).c_str(), end.op->name,
           end.unrecorded ? "was recorded without gradients: within no_grad, or by a grad that was "
                            "not to create a graph"
                          : "has no gradient");
    }
    fail(Code::no_gradient, "%s: %s%s does not depend on anything that requires a gradient", name,
         output->op->name, to_string(output.shape()).c_str());
  }
  if (!seed) {
    if (output.size() != 1) {
      fail(Code::shape, "%s: a gradient must be given for a result of shape %s", name,
           to_string(output.shape()).c_str());
    }
    return ones_like(output);
  }
  if (seed.shape() != output.shape()) {
    fail(Code::shape, "%s: the gradient given has shape %s, the result %s", name,
         to_string(seed.shape()).c_str(), to_string(output.shape()).c_str());
  }
  return cast(seed, output.dtype());
}

thread_local std::unordered_map<const Node*, CallGradients>* calls_in_progress = nullptr;

// The gradients that arrive at the results of calls during one walk; walks nest.
class CallsOfWalk {
 public:
  CallsOfWalk() : outer_(calls_in_progress) { calls_in_progress = &calls_; }
  ~CallsOfWalk() { calls_in_progress = outer_; }
  CallsOfWalk(const CallsOfWalk&) = delete;

 private:
  std::unordered_map<const Node*, CallGradients> calls_;
  std::unordered_map<const Node*, CallGradients>* outer_;
};

// While one lives, comparisons are recorded as what slopes depend on, unless no gradients are
// recorded.
class SlopesOfWalk {
 public:
  SlopesOfWalk() : outer_(current_thread().records_slopes) {
    current_thread().records_slopes = gradient_mode();
  }
  ~SlopesOfWalk() { current_thread().records_slopes = outer_; }
  SlopesOfWalk(const SlopesOfWalk&) = delete;

 private:
  bool outer_;
};

// Walks a history backwards and returns a gradient sum for each of its nodes. Only those of leaves
// and of `keep` still hold their sum afterwards.
std::vector<GradientSum> walk(const char* name, const History& history,
                              std::span<const Tensor> outputs, std::span<const Tensor> seeds,
                              std::span<const Tensor> keep) {
  CallsOfWalk calls;
  SlopesOfWalk slopes;
  SharedNumbers numbers;
  const std::vector<Tensor>& nodes = history.nodes();
  std::vector<GradientSum> arrived(nodes.size());
  auto at = [&](const Tensor& tensor) -> GradientSum* {
    int64_t position = history.position(tensor.node());
    return position < 0 ? nullptr : &arrived[position];
  };
  for (const Tensor& tensor : keep) {
    if (GradientSum* there = at(tensor)) there->keep();
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor seed = seed_of(name, outputs[i], i < seeds.size() ? seeds[i] : nullptr);
    at(outputs[i])->add(std::move(seed));
  }
  SharedWeights weights(nodes);
  for (size_t position = nodes.size(); position-- > 0;) {
    const Node& node = *nodes[position].node();
    if (Tensor gradient = weights.gradient_of(node)) arrived[position].add(std::move(gradient));
    if (!node.op->gradient || node.variable || node.inputs.empty()) continue;
    const Tensor dy = arrived[position].pass_on(nodes[position]);
    if (!dy) continue;
    if (std::optional<SliceOf> slice = slice_of(node)) {
      if (GradientSum* input = at(node.inputs[0])) {
        input->add_slice(reshape(dy, slice->lengths), slice->axis, slice->start, slice->step);
      }
      continue;
    }
    if (weights.take(node, dy)) {
      GradientSum* rows = at(node.inputs[0]);
      if (Tensor gradient = gradient_of_rows(node, dy); gradient && rows) {
        rows->add(std::move(gradient));
      }
      continue;
    }
    SmallVector<Tensor, 4> gradients;
    for (size_t i = 0; i < node.inputs.size(); ++i) gradients.push_back(nullptr);
    node.op->gradient(node, dy, gradients.data());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!gradients[i]) continue;
      if (GradientSum* input = at(node.inputs[i])) input->add(std::move(gradients[i]));
    }
  }
  for (size_t i = 0; i < nodes.size(); ++i) arrived[i].total(nodes[i]);
  return arrived;
}

}  // namespace

CallGradients& gradients_of_call(const Node* call) { return (*calls_in_progress)[call]; }

std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& seeds,
                              const std::vector<Tensor>& inputs) {
  History history(outputs);
  std::vector<GradientSum> arrived = walk("grad", history, outputs, seeds, inputs);
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    int64_t position = history.position(input.node());
    Tensor gradient = position < 0 ? nullptr : arrived[position].total(input);
    if (!gradient && input->is_broadcast_product && input.requires_gradient()) {
      // The product's sum was recorded as a contraction of its factors, which bypasses the product.
      fail(Code::no_gradient,
           "grad: the product %s is summed without ever being formed; ask for the gradients of "
           "its factors, or copy it first",
           to_string(input.shape()).c_str());
    }
    result.push_back(std::move(gradient));
  }
  return result;
}

namespace {

// One walk's contribution to a leaf's gradient, the gradient found there, and their total.
struct Sum {
  Variable* variable;
  Tensor part, found, total;
};

void add_up(std::vector<Sum>* sums) {
  for (Sum& sum : *sums) {
    Tensor found = sum.variable->gradient.get();
    if (sum.total && found.node() == sum.found.node()) continue;
    sum.total = found ? add(found, sum.part) : sum.part;
    sum.found = std::move(found);
  }
}

// Sets the gradients to the totals; false, and changes none, if one is no longer the one found.
bool hand_over(std::vector<Sum>* sums) {
  static auto* mutex = new std::mutex;  // outlives every thread
  DisposalPause pause;
  std::lock_guard lock(*mutex);
  for (const Sum& sum : *sums) {
    if (sum.variable->gradient.get().node() != sum.found.node()) return false;
  }
  for (Sum& sum : *sums) {
    sum.variable->gradient.set(std::move(sum.total));
    if (sum.variable->abandoned()) sum.variable->gradient.drop();
  }
  return true;
}

}  // namespace

void backward(const Tensor& output, const Tensor& seed, bool retain, bool differentiable) {
  History history({output});
  {
    GradientMode mode(differentiable && gradient_mode());
    std::vector<GradientSum> arrived = walk("backward", history, {&output, 1}, {&seed, 1}, {});
    // All sums are recorded before any gradient changes: a call that fails has changed nothing. A
    // leaf that was rebound in between has several values in the history, but one gradient.
    std::vector<Sum> sums;
    constexpr size_t usual = 16;
    sums.reserve(usual);
    PointerIndex index;
    for (size_t i = 0; i < arrived.size(); ++i) {
      const Tensor& leaf = history.nodes()[i];
      if (!leaf->variable) continue;
      Variable* variable = leaf->variable.get();
      Tensor gradient = arrived[i].pass_on(leaf);
      if (!gradient || variable->abandoned()) continue;
      const auto [entry, is_new] = index.find_or_add(variable, static_cast<int64_t>(sums.size()));
      if (is_new) {
        sums.push_back({variable, std::move(gradient), nullptr, nullptr});
      } else {
        Tensor& part = sums[entry->number].part;
        part = add(part, gradient);
      }
    }
    do {
      add_up(&sums);
    } while (!hand_over(&sums));
  }
  if (!retain && !differentiable) history.forget();
}

}  // namespace mt
