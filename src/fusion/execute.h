// SPDX-License-Identifier: Apache-2.0
// One run of a plan: bind the leaves, take all memory, run, hand out the outputs.
#pragma once

#include <memory>
#include <utility>

#include "graph/node.h"
#include "plan/plan.h"

namespace mt {

class Execution {
 public:
  Execution(const Plan& plan, Device* device, size_t items);
  ~Execution();
  Execution(const Execution&) = delete;

  // Leaves in the region's order.
  void bind_leaf(const Node& node) { leaves_.push_back(&node); }

  // Takes every byte the run will need, or throws Code::memory and holds nothing. may_take(leaf)
  // says whether an output may take over that leaf's memory; name(item) is for the message.
  template <class MayTake, class Name>
  void take_memory(MayTake&& may_take, Name&& name) {
    for (const Buffer& buffer : plan_.buffers) {
      if (buffer.kind == BufferKind::output && buffer.donor >= 0 && may_take(buffer.donor)) {
        Ref<Storage> taken = leaves_[buffer.donor]->storage;
        outputs_[buffer.index] = taken.disown();
      }
    }
    int failed = -1;
    int64_t bytes = 0;
    if (!try_memory(&failed, &bytes)) out_of_memory(name(failed), bytes);
  }

  void run(const Immediates* immediates);
  Ref<Storage> output(int item) const { return Ref<Storage>(outputs_[item]); }
  // The same, but hands over the reference; once per item.
  Ref<Storage> take_output(int item) {
    return Ref<Storage>::adopt(std::exchange(outputs_[item], nullptr));
  }
  bool takes_over(int item, const Storage& storage) const { return outputs_[item] == &storage; }

 private:
  bool try_memory(int* failed, int64_t* bytes);  // all that is not taken over
  [[noreturn]] void out_of_memory(const char* name, int64_t bytes) const;

  const Plan& plan_;
  Device* device_;
  SmallVector<const Node*, 32> leaves_;
  // Each buffer's memory. Each item's output, nullptr for most; we own these references.
  static constexpr size_t few = 64;
  void* few_buffers_[few];
  std::unique_ptr<void*[]> many_buffers_;
  void** buffers_ = few_buffers_;
  Storage* few_outputs_[few];
  std::unique_ptr<Storage*[]> many_outputs_;
  Storage** outputs_ = few_outputs_;
  void* arena_ = nullptr;
  void* scratch_ = nullptr;
};

}  // namespace mt
