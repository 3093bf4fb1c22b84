// SPDX-License-Identifier: Apache-2.0
// A thread's pending nodes, in the order in which they were recorded. A window holds only its own
// thread's nodes and ready values, so that evaluating one never needs another's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "graph/node.h"

namespace mt {

class Tape;

class Window {
 public:
  // The calling thread's. Windows are never destroyed: when a thread ends, the next new one takes
  // over its window, with whatever is still pending in it.
  static Window& current();

  // Recursive, because finishing a node may dispose of others.
  std::recursive_mutex mutex;

  void append(Node* node);  // takes the lock
  void remove(Node* node);  // the caller holds the lock
  // Gives a pending node its value, contiguous unless it is a view, and moves what it no longer
  // needs to `released`; the caller holds the lock.
  void finish(Node* node, Ref<Storage> storage, std::vector<Tensor>* released);

  Node* first() const { return first_; }
  Node* last() const { return last_; }
  int64_t count() const { return count_.load(std::memory_order_relaxed); }
  int64_t dear_bytes() const {
    return dear_bytes_.load(std::memory_order_relaxed);
  }  // of pending values that may be stored

  // Tapes that record this thread's nodes, innermost last.
  std::vector<Tape*> tapes;
  // A trace is recording here, so nothing may be computed; guarded by the lock.
  bool tracing = false;

 private:
  void unlink(Node* node);

  Node* first_ = nullptr;
  Node* last_ = nullptr;
  // Read without the lock, to see whether a budget has been passed.
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> dear_bytes_{0};
};

}  // namespace mt
