// SPDX-License-Identifier: Apache-2.0
// Lasting state: values that outlive the computation that made them.
#pragma once

#include <atomic>

#include "graph/node.h"
#include "graph/trace_log.h"

namespace mt {

// A place that holds a value which can be exchanged for another: a parameter, its gradient, an
// optimizer's moment. A value that is pending in such a place is stored by every evaluation, so
// that no chain of steps can grow; and a trace that reads or changes the place does so again at
// every replay.
class StateCell {
 public:
  // Reading and changing as a program does it: a trace takes note.
  const Tensor& get() {
    if (TraceLog* log = TraceLog::current()) log->note(this);
    return value_;
  }
  void set(Tensor value) {
    if (TraceLog* log = TraceLog::current()) log->note(this);
    replace(std::move(value));
  }
  // The same behind a trace's back.
  const Tensor& peek() const { return value_; }
  void replace(Tensor value) {
    if (value) value->state_slots.fetch_add(1, std::memory_order_relaxed);
    if (value_) value_->state_slots.fetch_sub(1, std::memory_order_relaxed);
    value_ = std::move(value);
  }

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~StateCell() { replace(nullptr); }

  std::atomic<int32_t> references_{0};
  Tensor value_;
};

// An owned cell, made when it is first needed.
class StateSlot {
 public:
  StateSlot() = default;
  explicit StateSlot(Tensor value) { set(std::move(value)); }
  StateSlot(const StateSlot&) = delete;
  StateSlot& operator=(const StateSlot&) = delete;

  const Tensor& get() const {
    static const Tensor nothing;
    return cell_ || TraceLog::current() ? cell().get() : nothing;
  }
  void set(Tensor value) {
    if (cell_ || value) cell().set(std::move(value));
  }
  void drop() {
    if (cell_) cell_->replace(nullptr);
  }
  StateCell& cell() const {
    if (!cell_) cell_ = Ref<StateCell>(new StateCell);
    return *cell_;
  }

 private:
  mutable Ref<StateCell> cell_;
};

// Where a leaf's gradient is collected. Shared by the handle and by the leaf's value.
class Variable {
 public:
  StateSlot gradient;

  // The handle is gone, so nobody can ask for the gradient any more. A gradient that is not
  // computed yet refers to the leaf's value, and that to this: without a word the three would stay
  // for good.
  void abandon() {
    abandoned_ = true;
    gradient.drop();
  }
  bool abandoned() const { return abandoned_; }

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<int32_t> references_{0};
  std::atomic<bool> abandoned_{false};
};

}  // namespace mt
