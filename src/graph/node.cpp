// SPDX-License-Identifier: Apache-2.0
#include "graph/node.h"

#include <mutex>
#include <vector>

#include "graph/variable.h"
#include "graph/window.h"

namespace mt {

Node::Node(const Op& op, Dtype dtype, const Shape& shape, Device& device)
    : op(&op), device(&device), shape(shape), dtype(dtype) {}

Node::~Node() = default;

void Node::set_ready(Ref<Storage> value, const Strides& value_strides, int64_t value_offset) {
  storage = std::move(value);
  strides = value_strides;
  offset = value_offset;
  state_.store(State::ready, std::memory_order_release);
}

void Node::dispose(Node* node) {
  // Iterative, so that a chain of a million nodes needs no deep stack: nodes that die while
  // another is being destroyed wait in a list.
  thread_local std::vector<Node*>* dying = nullptr;
  if (dying) {
    dying->push_back(node);
    return;
  }
  std::vector<Node*> list{node};
  dying = &list;
  while (!list.empty()) {
    Node* next = list.back();
    list.pop_back();
    if (Window* window = next->window.load()) {
      std::lock_guard lock(window->mutex);
      if (next->window.load()) window->remove(next);
    }
    delete next;
  }
  dying = nullptr;
}

}  // namespace mt
