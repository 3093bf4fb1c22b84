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
  static Window& current();  // the calling thread's

  // Recursive, because finishing a node may dispose of others.
  std::recursive_mutex mutex;

  void append(Node* node);  // takes the lock
  void remove(Node* node);  // the caller holds the lock
  // Gives a pending node its value and drops what it no longer needs; the caller holds the lock.
  void finish(Node* node, Ref<Storage> storage, const Strides& strides, int64_t offset);

  Node* first() const { return first_; }
  Node* last() const { return last_; }
  int64_t count() const { return count_; }
  int64_t dear_bytes() const { return dear_bytes_; }  // of pending values that may be stored

  // Tapes that record this thread's nodes, innermost last.
  std::vector<Tape*> tapes;

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  Window() = default;
  ~Window() = default;

  std::atomic<int32_t> references_{0};
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  int64_t count_ = 0;
  int64_t dear_bytes_ = 0;
};

}  // namespace mt
