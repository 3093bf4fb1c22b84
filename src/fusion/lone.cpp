// SPDX-License-Identifier: Apache-2.0
#include "fusion/lone.h"

#include <algorithm>

#include "backends/backend.h"

namespace mt {

bool LoneKey::write(const Node& node) {
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

bool LoneKey::operator==(const LoneKey& other) const {
  return count_ == other.count_ && std::equal(words_, words_ + count_, other.words_);
}

LonePlans& LonePlans::of_thread() {
  thread_local LonePlans plans;
  return plans;
}

const Plan* LonePlans::find(const LoneKey& key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.plan.get();
  }
  return nullptr;
}

void LonePlans::insert(const LoneKey& key, std::shared_ptr<const Plan> plan) {
  entries_[next_] = {key, std::move(plan)};
  next_ = (next_ + 1) % entries_.size();
}

}  // namespace mt
