// SPDX-License-Identifier: Apache-2.0
// Lasting state: values that outlive the computation that made them.
#pragma once

#include <atomic>

#include "graph/node.h"

namespace mt {

// A place that holds state (a parameter, its gradient, an optimizer's moment). A value that is
// pending in such a place is stored by every evaluation, so that no chain of steps can grow.
class StateSlot {
 public:
  StateSlot() = default;
  explicit StateSlot(Tensor value) { set(std::move(value)); }
  StateSlot(const StateSlot&) = delete;
  StateSlot& operator=(const StateSlot&) = delete;
  ~StateSlot() { set(nullptr); }

  const Tensor& get() const { return value_; }
  void set(Tensor value) {
    if (value) value->state_slots.fetch_add(1, std::memory_order_relaxed);
    if (value_) value_->state_slots.fetch_sub(1, std::memory_order_relaxed);
    value_ = std::move(value);
  }

 private:
  Tensor value_;
};

// Where a leaf's gradient is collected. Shared by the handle and by the leaf's value.
class Variable {
 public:
  StateSlot gradient;

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<int32_t> references_{0};
};

}  // namespace mt
