// SPDX-License-Identifier: Apache-2.0
#include "fusion/single_contraction.h"

#include <algorithm>

#include "backends/backend.h"
#include "fusion/execute.h"
#include "graph/window.h"

namespace mt {

bool ContractionKey::write(const Node& node) {
  count_ = 0;
  if (node.op->kind != OpKind::contract || node.inputs[0].node() == node.inputs[1].node()) {
    return false;
  }
  size_t size = 3 + node.attributes.size();
  for (const Tensor& input : node.inputs) {
    if (!input->ready()) return false;
    size += 1 + 2 * static_cast<size_t>(input.rank());
  }
  if (size > most_words) return false;
  uint64_t* to = words_;
  auto put = [&](auto word) { *to++ = static_cast<uint64_t>(word); };
  put(reinterpret_cast<uint64_t>(node.device));
  put(node.device->backend->configuration());
  put(node.dtype);
  for (int64_t attribute : node.attributes) put(attribute);
  for (const Tensor& input : node.inputs) {
    put(static_cast<int>(input.dtype()) << 8 | input.rank());
    for (int64_t length : input.shape()) put(length);
    for (int64_t stride : input->strides) put(stride);
  }
  count_ = size;
  return true;
}

bool ContractionKey::operator==(const ContractionKey& other) const {
  return count_ == other.count_ && std::equal(words_, words_ + count_, other.words_);
}

ContractionPlans& ContractionPlans::of_thread() {
  thread_local ContractionPlans plans;
  return plans;
}

const Plan* ContractionPlans::find(const ContractionKey& key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.plan.get();
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
