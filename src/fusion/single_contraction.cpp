// SPDX-License-Identifier: Apache-2.0
#include "fusion/single_contraction.h"

#include <algorithm>

#include "backends/backend.h"
#include "fusion/execute.h"
#include "graph/window.h"

namespace mt {

bool is_single_contraction(const Node& node) {
  const auto ready = [](const Tensor& input) { return input->ready(); };
  return node.op->kind == OpKind::contract && node.inputs[0].node() != node.inputs[1].node() &&
         std::all_of(node.inputs.begin(), node.inputs.end(), ready);
}

ContractionKey::ContractionKey(const Node& node)
    : op_(node.op),
      device_(node.device),
      configuration_(node.device->backend->configuration()),
      dtype_(node.dtype),
      attributes_(node.attributes),
      operands_{node.inputs[0], node.inputs[1]} {}

bool ContractionKey::is_of(const Node& node) const {
  return op_ == node.op && device_ == node.device && dtype_ == node.dtype &&
         operands_[0].is(node.inputs[0]) && operands_[1].is(node.inputs[1]) &&
         attributes_ == node.attributes && configuration_ == node.device->backend->configuration();
}

ContractionPlans& ContractionPlans::of_thread() {
  thread_local ContractionPlans plans;
  return plans;
}

const Plan* ContractionPlans::find(const Node& node) const {
  for (const Entry& entry : entries_) {
    if (entry.key.is_of(node)) return entry.plan.get();
  }
  return nullptr;
}

void ContractionPlans::insert(const ContractionKey& key, std::shared_ptr<const Plan> plan) {
  entries_[next_] = {key, std::move(plan)};
  next_ = (next_ + 1) % entries_.size();
}

void run_single_contraction(Window& window, Node* node, const Plan& plan) {
  Ref<Storage> output;
  {
    Execution execution(plan, node->device, 1);
    for (const Tensor& input : node->inputs) execution.bind_leaf(*input.node());
    execution.take_memory([](int) { return false; }, [&](int) { return node->op->name; });
    execution.run(&node->immediates);
    output = execution.take_output(0);
  }
  window.finish(node, std::move(output));
}

}  // namespace mt
