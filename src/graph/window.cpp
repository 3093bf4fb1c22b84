// SPDX-License-Identifier: Apache-2.0
#include "graph/window.h"

namespace mt {
namespace {

void count_uses(Node* node, int32_t change) {
  for (const Tensor& input : node->inputs) {
    if (!input->ready()) input->pending_uses += change;
  }
  if (node->base && !node->base->ready()) node->base->pending_uses += change;
}

}  // namespace

Window& Window::current() {
  thread_local Ref<Window> window(new Window);
  return *window;
}

void Window::append(Node* node) {
  std::lock_guard lock(mutex);
  retain();  // the thread may end before its nodes
  node->window = this;
  node->previous = last_;
  (last_ ? last_->next : first_) = node;
  last_ = node;
  ++count_;
  if (!is_cheap(*node->op)) dear_bytes_ += node->bytes();
  count_uses(node, 1);
}

void Window::remove(Node* node) {
  (node->previous ? node->previous->next : first_) = node->next;
  (node->next ? node->next->previous : last_) = node->previous;
  node->previous = node->next = nullptr;
  --count_;
  if (!is_cheap(*node->op)) dear_bytes_ -= node->bytes();
  count_uses(node, -1);
  node->window = nullptr;
  release();
}

void Window::finish(Node* node, Ref<Storage> storage, const Strides& strides, int64_t offset) {
  remove(node);
  Inputs dropped;
  if (!node->keeps_inputs) dropped = std::move(node->inputs);
  Tensor base = std::move(node->base);
  node->set_ready(std::move(storage), strides, offset);
}

}  // namespace mt
