// SPDX-License-Identifier: Apache-2.0
#include "fusion/single_contraction.h"

#include <algorithm>

#include "backends/backend.h"
#include "fusion/execute.h"
#include "graph/window.h"

namespace mt {

namespace {

// Hands out a key's words, some at a time, while `take` takes them; whether it has taken all.
template <class Take>
inline bool take_words(const Node& node, Take take) {
  auto form = [](Dtype dtype, size_t words) {
    return static_cast<int64_t>(words << 8 | static_cast<size_t>(dtype));
  };
  const int64_t head[] = {reinterpret_cast<int64_t>(node.device),
                          static_cast<int64_t>(node.device->backend->configuration()),
                          form(node.dtype, node.attributes.size())};
  if (!take(head, head + 3) || !take(node.attributes.begin(), node.attributes.end())) return false;
  for (const Tensor& input : node.inputs) {
    const int64_t operand[] = {form(input.dtype(), static_cast<size_t>(input.rank()))};
    const Shape& shape = input.shape();
    const Strides& strides = input->strides;
    if (!take(operand, operand + 1) || !take(shape.begin(), shape.end()) ||
        !take(strides.begin(), strides.end())) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_single_contraction(const Node& node) {
  return node.op->kind == OpKind::contract && node.inputs[0].node() != node.inputs[1].node() &&
         node.inputs[0]->ready() && node.inputs[1]->ready();
}

ContractionKey::ContractionKey(const Node& node) {
  int64_t* to = words_;
  complete_ = take_words(node, [&](const int64_t* begin, const int64_t* end) {
    if (end - begin > words_ + most_words - to) return false;
    to = std::copy(begin, end, to);
    return true;
  });
}

bool ContractionKey::is_of(const Node& node) const {
  const int64_t* known = words_;
  return complete_ && take_words(node, [&](const int64_t* begin, const int64_t* end) {
           for (; begin != end; ++begin, ++known) {
             if (*begin != *known) return false;
           }
           return true;
         });
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
