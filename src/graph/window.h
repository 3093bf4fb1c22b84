// SPDX-License-Identifier: Apache-2.0
// A thread's pending nodes, in the order in which they were recorded. A window holds only its own
// thread's nodes and ready values, so that evaluating one never needs another's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/owner_lock.h"
#include "base/relaxed.h"
#include "base/thread.h"
#include "graph/node.h"

namespace mt {

class Tape;

class Window {
 public:
  // The calling thread's. Windows are never destroyed: when a thread ends, the next new one takes
  // over its window, with whatever is still pending in it.
  static Window& current() { return current(current_thread()); }
  static Window& current(Thread& thread) { return thread.window ? *thread.window : lease(thread); }

  OwnerLock lock;

  void append(Node* node, Thread& thread);  // takes the lock
  void remove(Node* node);                  // the caller holds the lock
  // Gives a pending node its value, contiguous unless it is a view, and lets go of what it no
  // longer needs. The caller holds the lock and pauses disposal.
  void finish(Node* node, Ref<Storage>&& storage);

  Node* first() const { return first_; }
  Node* last() const { return last_; }
  int64_t count() const { return count_.load(std::memory_order_relaxed); }
  // How many of them were recorded since cut_here() was called; less, if older ones were dropped.
  int64_t count_since_cut() const { return count() - old_.load(std::memory_order_relaxed); }
  // The bytes of pending values that may be stored.
  int64_t costly_bytes() const { return costly_bytes_.load(std::memory_order_relaxed); }

  // Tapes that record this thread's nodes, innermost last; nullptr: those before it are paused.
  // Guarded by the lock.
  std::vector<Tape*> tapes;
  // How many of them record now.
  Relaxed<size_t> recording_tapes = 0;
  // A long sequence of nodes is evaluated in parts (record.cpp): what was recorded last before the
  // cut between two parts, as a number; 0 if a value has been asked for since. The caller of these
  // holds the lock.
  void cut_here(uint64_t after) {
    cut_ = after;
    old_.store(count(), std::memory_order_relaxed);
  }
  uint64_t cut() const { return cut_; }
  void forget_cut() { cut_ = 0; }
  // A trace is recording here, so nothing may be computed; guarded by the lock.
  bool tracing = false;

 private:
  static Window& lease(Thread& thread);
  void unlink(Node* node);
  void count(Node* node, int32_t change);

  Node* first_ = nullptr;
  Node* last_ = nullptr;
  // Written under the lock, and read without it, to see whether a budget has been passed.
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> costly_bytes_{0};
  std::atomic<int64_t> old_{0};  // at most count_
  uint64_t cut_ = 0;
};

inline void Window::count(Node* node, int32_t change) {
  auto add = [](std::atomic<int64_t>* sum, int64_t term) {
    sum->store(sum->load(std::memory_order_relaxed) + term, std::memory_order_relaxed);
  };
  add(&count_, change);
  if (!is_cheap(*node->op)) add(&costly_bytes_, change * node->bytes());
  if (!node->reads_pending) return;
  for (const Tensor& input : node->inputs) {
    if (!input->ready()) input->pending_uses += change;
  }
  if (node->base && !node->base->ready()) node->base->pending_uses += change;
}

[[gnu::always_inline]] inline void Window::append(Node* node, Thread& thread) {
  OwnerLock::Hold hold(lock, &thread);
  node->window.store(this, std::memory_order_relaxed);
  node->previous = last_;
  (last_ ? last_->next : first_) = node;
  last_ = node;
  count(node, 1);
}

inline void Window::unlink(Node* node) {
  (node->previous ? node->previous->next : first_) = node->next;
  (node->next ? node->next->previous : last_) = node->previous;
  node->previous = node->next = nullptr;
  count(node, -1);
  if (count_since_cut() < 0) old_.store(count(), std::memory_order_relaxed);
}

inline void Window::remove(Node* node) {
  unlink(node);
  node->window.store(nullptr, std::memory_order_release);
}

inline void Window::finish(Node* node, Ref<Storage>&& storage) {
  unlink(node);
  if (!node->keeps_inputs) node->inputs.clear();
  if (node->base) {
    node->base = nullptr;
    node->set_ready(std::move(storage));
  } else {
    // Contiguous; written out because values are finished all the time.
    node->strides = node->shape;
    int64_t stride = 1;
    for (int i = node->shape.rank() - 1; i >= 0; --i) {
      node->strides[i] = stride;
      if (node->shape[i] > 0) stride *= node->shape[i];
    }
    node->offset = 0;
    node->set_ready(std::move(storage));
  }
  // Last, because a thread that drops the last handle takes the lock only while this is set.
  node->window.store(nullptr, std::memory_order_release);
}

}  // namespace mt
