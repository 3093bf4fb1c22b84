// SPDX-License-Identifier: Apache-2.0
#include "graph/node.h"

#include <mutex>

#include "graph/variable.h"
#include "graph/window.h"

namespace mt {

Node::Node(const Op& op, Dtype dtype, const Shape& shape, Device& device)
    : op(&op), device(&device), shape(shape), dtype(dtype) {}

Node::~Node() = default;

namespace {

class SpareMemory {
 public:
  ~SpareMemory() {
    closed_ = true;
    while (void* memory = take()) ::operator delete(memory);
  }
  void* take() {
    if (!first_) return nullptr;
    void* memory = first_;
    first_ = *static_cast<void**>(memory);
    --count_;
    return memory;
  }
  bool keep(void* memory) {
    if (closed_ || count_ == most) return false;
    *static_cast<void**>(memory) = first_;
    first_ = memory;
    ++count_;
    return true;
  }

 private:
#ifdef __SANITIZE_ADDRESS__
  static constexpr int most = 0;  // it is to see uses after release
#else
  static constexpr int most = 512;
#endif
  void* first_ = nullptr;
  int count_ = 0;
  bool closed_ = false;
};
thread_local SpareMemory spare;

// Nodes that wait to be destroyed: those that die while another is being destroyed, so that a chain
// of a million nodes needs no deep stack, and those of a DisposalPause.
thread_local std::vector<Node*>* waiting = nullptr;

}  // namespace

void* Node::operator new(size_t size) {
  void* memory = spare.take();
  return memory ? memory : ::operator new(size);
}

void Node::operator delete(void* memory) {
  if (!spare.keep(memory)) ::operator delete(memory);
}

void Node::set_ready(Ref<Storage> value, const Strides& value_strides, int64_t value_offset) {
  strides = value_strides;
  offset = value_offset;
  set_ready(std::move(value));
}

void Node::set_ready(Ref<Storage> value) {
  storage = std::move(value);
  state_.store(State::ready, std::memory_order_release);
}

void Node::dispose(Node* node) {
  if (waiting) {
    waiting->push_back(node);
    return;
  }
  DisposalPause pause;
  waiting->push_back(node);
}

DisposalPause::DisposalPause() : outermost_(!waiting) {
  if (outermost_) waiting = &dying_;
}

DisposalPause::~DisposalPause() {
  if (!outermost_) return;
  while (!dying_.empty()) {
    Node* next = dying_.back();
    dying_.pop_back();
    if (Window* window = next->window.load()) {
      std::lock_guard lock(window->mutex);
      if (next->window.load()) window->remove(next);
    }
    delete next;
  }
  waiting = nullptr;
}

}  // namespace mt
