// SPDX-License-Identifier: Apache-2.0
#include "graph/history.h"

#include <mutex>
#include <optional>
#include <span>

#include "base/error.h"
#include "graph/variable.h"
#include "graph/window.h"

namespace mt {
namespace {

// Guards every HistoryUse, and the inputs of ready nodes. Held while pointers are followed, never
// while anything is recorded or computed. A window's lock is taken before it, not after.
std::mutex& history_mutex() {
  static auto* mutex = new std::mutex;  // outlives every thread
  return *mutex;
}

// The locks under which a node's inputs may be read and let go of. Neighbours in a history usually
// share them.
class InputsLock {
 public:
  void take(const Node& node) {
    Window* window = node.window.load();
    if (lock_ && (!window || window == window_)) return;
    release();
    window_ = window;
    if (window) in_window_.emplace(window->lock, &current_thread());
    lock_ = std::unique_lock(history_mutex());
  }
  [[gnu::noinline]] void release() {  // else gcc warns of what an empty optional holds
    lock_ = {};
    in_window_.reset();
  }

 private:
  const Window* window_ = nullptr;
  std::optional<OwnerLock::Hold> in_window_;
  std::unique_lock<std::mutex> lock_;
};

// Once true it stays true: no new walk or tape can begin to use such a node.
bool needs_no_inputs(const Node& node) {
  return !node.requires_gradient && !node.is_broadcast_product && node.history_use.tapes == 0 &&
         node.history_use.walks == 0;
}

// Lets go of the inputs that nobody needs.
void release_inputs(std::span<const Tensor> nodes) {
  InputsLock lock;
  for (const Tensor& node : nodes) {
    if (node.requires_gradient()) continue;
    lock.take(*node.node());
    if (!needs_no_inputs(*node.node())) continue;
    if (node->ready()) {
      const Inputs released = std::move(node->inputs);
      lock.release();  // before they are destroyed
    } else {
      node->keeps_inputs = false;  // its evaluation lets go of them
    }
  }
}

}  // namespace

History::History(const std::vector<Tensor>& outputs) {
  // What requires a gradient keeps its inputs while the mutex is held.
  struct Frame {
    Node* node;
    size_t next = 0;
  };
  std::vector<Frame> stack;  // histories can be longer than the program's stack is deep
  constexpr size_t usual = 32;
  stack.reserve(usual);
  nodes_.reserve(usual);
  auto push = [&](const Tensor& node) {
    if (node && node->history_use.forgotten) {
      fail(Code::no_gradient,
           "backward: the history of %s%s has been forgotten after an earlier backward; retain it "
           "there",
           node->op->name, to_string(node.shape()).c_str());
    }
    if (!node || !node.requires_gradient()) return;
    if (positions_.find_or_add(node.node(), -1).is_new) stack.push_back({node.node()});
  };
  std::lock_guard lock(history_mutex());
  for (const Tensor& output : outputs) {
    push(output);
    while (!stack.empty()) {
      Frame& top = stack.back();
      // A leaf ends the history, whatever computed its value.
      if (!top.node->variable && top.next < top.node->inputs.size()) {
        push(top.node->inputs[top.next++]);
      } else {
        const int64_t position = static_cast<int64_t>(nodes_.size());
        positions_.find_or_add(top.node, position).entry->number = position;
        nodes_.emplace_back(top.node);
        stack.pop_back();
      }
    }
  }
  for (const Tensor& node : nodes_) ++node->history_use.walks;
}

History::~History() {
  {
    std::lock_guard lock(history_mutex());
    for (const Tensor& node : nodes_) {
      HistoryUse& use = node->history_use;
      if (--use.walks == 0 && use.forgotten) node->requires_gradient = false;
    }
  }
  release_inputs(nodes_);
}

void History::forget() {
  std::lock_guard lock(history_mutex());
  for (const Tensor& node : nodes_) {
    if (!node->variable) node->history_use.forgotten = true;
  }
}

void release_from_tape(Node& node) {
  {
    std::lock_guard lock(history_mutex());
    --node.history_use.tapes;
  }
  const Tensor only(&node);
  release_inputs({&only, 1});
}

Inputs inputs_of(const Tensor& tensor) {
  if (Window* window = tensor->window.load(std::memory_order_acquire)) {
    OwnerLock::Hold hold(window->lock, &current_thread());
    if (!tensor->ready()) return tensor->inputs;
  }
  std::lock_guard lock(history_mutex());
  return tensor->inputs;
}

HistoryEnd end_of_history(const Tensor& output) {
  HistoryEnd end;
  std::vector<Tensor> nodes{output};
  for (size_t i = 0; i < nodes.size() && nodes.size() < 1000; ++i) {
    const Tensor node = nodes[i];
    for (const Tensor& input : inputs_of(node)) {
      if (input.requires_gradient()) {
        if (node->op->gradient && is_floating(node.dtype())) return {node->op, true};
        if (!end.op) end.op = node->op;
        continue;
      }
      nodes.push_back(input);
    }
  }
  return end;
}

}  // namespace mt
