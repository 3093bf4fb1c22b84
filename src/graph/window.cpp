// SPDX-License-Identifier: Apache-2.0
#include "graph/window.h"

#include "graph/tape.h"

namespace mt {
namespace {

void count_uses(Node* node, int32_t change) {
  for (const Tensor& input : node->inputs) {
    if (!input->ready()) input->pending_uses += change;
  }
  if (node->base && !node->base->ready()) node->base->pending_uses += change;
}

std::mutex& pool_mutex() {
  static std::mutex* mutex = new std::mutex;  // outlives every thread
  return *mutex;
}
std::vector<Window*>& pool() {
  static auto* windows = new std::vector<Window*>;
  return *windows;
}

}  // namespace

Window& Window::current() {
  struct Lease {
    Window* window;
    Lease() {
      std::lock_guard lock(pool_mutex());
      if (pool().empty()) {
        window = new Window;
      } else {
        window = pool().back();
        pool().pop_back();
      }
    }
    ~Lease() {
      Tape::end_all(*window);  // they do not record the next thread
      std::lock_guard lock(pool_mutex());
      pool().push_back(window);
    }
  };
  thread_local Lease lease;
  return *lease.window;
}

void Window::append(Node* node) {
  std::lock_guard lock(mutex);
  node->window = this;
  node->previous = last_;
  (last_ ? last_->next : first_) = node;
  last_ = node;
  ++count_;
  if (!is_cheap(*node->op)) dear_bytes_ += node->bytes();
  count_uses(node, 1);
}

void Window::remove(Node* node) {
  unlink(node);
  node->window = nullptr;
}

void Window::unlink(Node* node) {
  (node->previous ? node->previous->next : first_) = node->next;
  (node->next ? node->next->previous : last_) = node->previous;
  node->previous = node->next = nullptr;
  --count_;
  if (!is_cheap(*node->op)) dear_bytes_ -= node->bytes();
  count_uses(node, -1);
}

void Window::finish(Node* node, Ref<Storage> storage, std::vector<Tensor>* released) {
  unlink(node);
  if (!node->keeps_inputs) {
    for (Tensor& input : node->inputs) released->push_back(std::move(input));
    node->inputs.clear();
  }
  if (node->base) {
    released->push_back(std::move(node->base));
    node->base = nullptr;
    node->set_ready(std::move(storage));
  } else {
    node->set_ready(std::move(storage), contiguous_strides(node->shape), 0);
  }
  // Last, because a thread that drops the last handle waits for the lock only until then.
  node->window = nullptr;
}

}  // namespace mt
