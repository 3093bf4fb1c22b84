// SPDX-License-Identifier: Apache-2.0
// Evaluation: select what to store, find or make the plan, take all memory, run, hand out values.
#include "fusion/evaluator.h"

#include <memory>

#include "backends/backend.h"
#include "fusion/plan_cache.h"
#include "fusion/planner.h"
#include "graph/evaluate.h"
#include "graph/window.h"
#include "tensor/error.h"

namespace mt {
namespace {

struct Workspace {
  Region region;
  std::vector<Device*> devices;
  std::vector<uint64_t> key;
  std::vector<void*> buffers;
  std::vector<Immediates> immediates;
  std::vector<Ref<Storage>> outputs;  // for each item
  std::vector<Tensor> released;       // what finished nodes no longer need
};

[[noreturn]] void out_of_memory(const Region& region, int item, int64_t bytes) {
  const char* name = item >= 0 ? region.items[static_cast<size_t>(item)].node->op->name
                               : region.items.back().node->op->name;
  fail(Code::memory, "%s: out of memory: %lld bytes on %s could not be had", name,
       static_cast<long long>(bytes), region.device->name.c_str());
}

// Memory for one run, given back however it ends.
struct Block {
  Allocator* allocator;
  void* data = nullptr;
  size_t bytes;
  Block(Allocator* allocator, int64_t size) : allocator(allocator), bytes(size_t(size)) {
    if (bytes) data = allocator->allocate(bytes);
  }
  ~Block() {
    if (data) allocator->release(data, bytes);
  }
  Block(const Block&) = delete;
};

void run_region(Workspace* work) {
  Region& region = work->region;
  Device& device = *region.device;
  write_key(region, &work->key);
  std::shared_ptr<const Plan> plan = PlanCache::instance().find(work->key);
  if (!plan) {
    plan = std::make_shared<Plan>(make_plan(region));
    PlanCache::instance().insert(work->key, plan);
  }

  // All memory before the first kernel: when any of it cannot be had, nothing has happened.
  Block arena(device.allocator, plan->arena_bytes), scratch(device.allocator, plan->scratch_bytes);
  if ((plan->arena_bytes && !arena.data) || (plan->scratch_bytes && !scratch.data)) {
    out_of_memory(region, -1, plan->arena_bytes + plan->scratch_bytes);
  }
  work->outputs.assign(region.items.size(), nullptr);
  work->buffers.resize(plan->buffers.size());
  for (size_t b = 0; b < plan->buffers.size(); ++b) {
    const Buffer& buffer = plan->buffers[b];
    size_t index = static_cast<size_t>(buffer.index);
    switch (buffer.kind) {
      case BufferKind::leaf: work->buffers[b] = region.leaves[index].node->data(); break;
      case BufferKind::arena:
        work->buffers[b] = static_cast<char*>(arena.data) + buffer.offset;
        break;
      case BufferKind::output: {
        Ref<Storage>& storage = work->outputs[index];
        storage = buffer.donor >= 0
                      ? region.leaves[static_cast<size_t>(buffer.donor)].node->storage
                      : Storage::allocate(device, static_cast<size_t>(buffer.bytes));
        if (!storage) out_of_memory(region, buffer.index, buffer.bytes);
        work->buffers[b] = storage->data();
        break;
      }
    }
  }
  work->immediates.clear();
  for (const Item& item : region.items) work->immediates.push_back(item.node->immediates);

  device.backend->run(*plan, work->buffers.data(), work->immediates.data(), scratch.data);
}

// Hands the computed values to their nodes, then to the views of them. What they let go of is
// released only after the pass over the window.
void finish(Window& window, Workspace* work) {
  for (size_t i = 0; i < work->region.items.size(); ++i) {
    if (!work->region.items[i].stored) continue;
    Node* node = work->region.items[i].node;
    Strides strides = contiguous_strides(node->shape);
    window.finish(node, std::move(work->outputs[i]), strides, 0, &work->released);
  }
  for (Node *node = window.first(), *next; node; node = next) {
    next = node->next;
    if (!node->base || !node->base->ready()) continue;
    Strides strides = node->strides;
    window.finish(node, node->base->storage, strides, node->offset, &work->released);
  }
}

class FusingEvaluator final : public Evaluator {
 public:
  void evaluate(Window& window, const Tensor* tensors, size_t count) override {
    // An evaluation may start another on this thread (releasing borrowed memory calls its owner),
    // so the workspace is taken, not shared.
    thread_local std::unique_ptr<Workspace> spare;
    std::unique_ptr<Workspace> work = spare ? std::move(spare) : std::make_unique<Workspace>();
    work->devices.clear();
    select(window, tensors, count);
    devices_with_work(window, &work->devices);
    for (size_t d = 0; d < work->devices.size(); ++d) {
      if (d > 0) select(window, tensors, count);  // the marks are spent
      build_region(window, *work->devices[d], &work->region);
      if (work->region.items.empty()) continue;
      run_region(work.get());
      finish(window, work.get());
    }
    work->region.clear();
    work->outputs.clear();
    work->released.clear();
    spare = std::move(work);
  }
};

}  // namespace

void install_fusing_evaluator() {
  static FusingEvaluator evaluator;
  install_evaluator(&evaluator);
}

}  // namespace mt
