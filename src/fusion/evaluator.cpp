// SPDX-License-Identifier: Apache-2.0
// Evaluation: select what to store, find or make the plan, take all memory, run, hand out values.
#include "fusion/evaluator.h"

#include <memory>

#include "backends/backend.h"
#include "base/before_work.h"
#include "base/error.h"
#include "fusion/execute.h"
#include "fusion/plan_cache.h"
#include "fusion/planning/planner.h"
#include "fusion/select.h"
#include "fusion/single_contraction.h"
#include "fusion/small_elementwise.h"
#include "graph/evaluate.h"
#include "graph/window.h"

namespace mt {
namespace {

struct Workspace {
  Region region;
  std::vector<Device*> devices;
  std::vector<uint64_t> key;
  std::vector<Immediates> immediates;
  std::vector<Ref<Storage>> outputs;  // for each item
};

std::shared_ptr<const Plan> run_region(Workspace* work) {
  const Region& region = work->region;
  write_key(region, &work->key);
  std::shared_ptr<const Plan> plan = PlanCache::instance().find(work->key);
  if (!plan) {
    auto made = std::make_shared<Plan>();
    make_plan(region, made.get());
    plan = std::move(made);
    PlanCache::instance().insert(work->key, plan);
  }
  Execution execution(*plan, region.device, region.items.size());
  for (const Leaf& leaf : region.leaves) execution.bind_leaf(*leaf.node);
  // All memory is taken before the first kernel: if some cannot be had, nothing has happened.
  execution.take_memory([](int) { return true; },
                        [&](int item) {
                          const Item& named = item >= 0 ? region.item(item) : region.items.back();
                          return named.node->op->name;
                        });
  work->outputs.assign(region.items.size(), nullptr);
  work->immediates.clear();
  for (const Item& item : region.items) work->immediates.push_back(item.node->immediates);
  execution.run(work->immediates.data());
  for (size_t i = 0; i < region.items.size(); ++i) {
    if (region.items[i].stored) work->outputs[i] = execution.take_output(static_cast<int>(i));
  }
  return plan;
}

// Hands the computed values to their nodes.
void finish(Window& window, Workspace* work) {
  for (size_t i = 0; i < work->region.items.size(); ++i) {
    Node* node = work->region.items[i].node;
    if (!work->region.items[i].stored) {
      if (node->times_computed < 2) ++node->times_computed;
      continue;
    }
    window.finish(node, std::move(work->outputs[i]));
  }
}

// Gives values to views of ready bases: those computed now, and those that were ready before the
// view was recorded (in a trace, or computed by another thread).
void finish_views(Window& window) {
  for (Node *node = window.first(), *next; node; node = next) {
    next = node->next;
    if (!node->base || !node->base->ready()) continue;
    window.finish(node, Ref<Storage>(node->base->storage));
  }
}

using Select = void(Window& window, const Tensor* tensors, size_t count);

// Plans and runs, device by device, whatever an evaluation of the window stores. Returns the plan
// if it computed just one node, else null.
std::shared_ptr<const Plan> run_selected(Select& select, Window& window, const Tensor* tensors,
                                         size_t count) {
  // An evaluation may start another on this thread (releasing borrowed memory calls its owner),
  // so the workspace is taken, not shared.
  thread_local std::unique_ptr<Workspace> spare;
  std::unique_ptr<Workspace> work = spare ? std::move(spare) : std::make_unique<Workspace>();
  std::shared_ptr<const Plan> plan;
  size_t computed = 0;
  work->devices.clear();
  select(window, tensors, count);
  devices_with_work(window, &work->devices);
  for (size_t d = 0; d < work->devices.size(); ++d) {
    if (d > 0) select(window, tensors, count);  // the marks are spent
    build_region(window, *work->devices[d], &work->region);
    if (work->region.items.empty()) continue;
    plan = run_region(work.get());
    computed += work->region.items.size();
    finish(window, work.get());
  }
  finish_views(window);
  work->region.clear();
  work->outputs.clear();
  spare = std::move(work);
  if (computed != 1) plan = nullptr;
  return plan;
}

// If memory does not suffice, evaluates what was asked for and leaves other held values pending.
[[gnu::noinline]] std::shared_ptr<const Plan> run_window(Window& window, const Tensor* tensors,
                                                         size_t count) {
  try {
    return run_selected(select, window, tensors, count);
  } catch (const Error& error) {
    if (error.code() != Code::memory || count == 0) throw;
  }
  return run_selected(select_exactly, window, tensors, count);
}

// The one node that an evaluation has to compute, if no pending node reads it: everything else can
// then stay pending. Null otherwise.
Node* only_node(const Window& window, const Tensor* tensors, size_t count) {
  if (count == 1) return tensors[0]->pending_uses == 0 ? tensors[0].node() : nullptr;
  return window.first() == window.last() ? window.first() : nullptr;
}

// Evaluates what is not small: by the plan of a single contraction, or by the window's region.
[[gnu::noinline]] void run(Window& window, Node* node, const Tensor* tensors, size_t count) {
  before_work();
  if (!node || count != 1 || !is_single_contraction(*node)) {
    run_window(window, tensors, count);
  } else if (const Plan* known = ContractionPlans::of_thread().find(*node)) {
    run_single_contraction(window, node, *known);
  } else {
    const ContractionKey key(*node);  // while it has its inputs
    std::shared_ptr<const Plan> made = run_window(window, tensors, count);
    if (made) ContractionPlans::of_thread().insert(key, std::move(made));
  }
}

class FusingEvaluator final : public Evaluator {
 public:
  void evaluate(Window& window, const Tensor* tensors, size_t count, Thread& thread) override {
    Node* node = only_node(window, tensors, count);
    if (!node || !run_small_elementwise(window, node, thread)) run(window, node, tensors, count);
  }

  void evaluate_all(Window& window) override { run_selected(select_all, window, nullptr, 0); }

  void read(Device& device, void* to, const void* data, size_t bytes) override {
    device.backend->copy_to_host(to, data, bytes);
  }
};

}  // namespace

void install_fusing_evaluator() {
  static FusingEvaluator evaluator;
  install_evaluator(&evaluator);
}

}  // namespace mt
