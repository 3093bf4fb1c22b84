// SPDX-License-Identifier: Apache-2.0
// Lasting state: values that outlive the computation that made them.
#pragma once

#include <atomic>
#include <mutex>

#include "base/spin_lock.h"
#include "graph/node.h"
#include "graph/trace_log.h"

namespace mt {

// A place for a value that can be replaced: a parameter, its gradient, an optimizer's moment. Every
// evaluation stores pending values in such places, so that no chain of steps can grow; and a trace
// that reads or changes the place does so again at every replay. Any thread may use it at any time,
// except while a replay changes it, perhaps in place. While a trace records, only its own thread
// sees what it changes.
class StateCell : public Counted<StateCell> {
 public:
  // Reads and changes by the program, which a trace notes.
  Tensor get() {
    TraceLog* log = TraceLog::current();
    if (!log) return value();
    TraceLog::Touched& touched = log->touch(this);
    touched.read |= !touched.written;
    return touched.now;
  }
  void set(Tensor value) {
    if (TraceLog* log = TraceLog::current()) {
      TraceLog::Touched& touched = log->touch(this);
      touched.now = std::move(value);
      touched.written = true;
    } else {
      replace(std::move(value));
    }
  }
  // What get() would return, without a trace noting it.
  Tensor peek() const {
    TraceLog* log = TraceLog::current();
    const TraceLog::Touched* known = log ? log->find(this) : nullptr;
    return known ? known->now : value();
  }
  // Empties the cell, even while a trace records.
  void drop() {
    TraceLog* log = TraceLog::current();
    if (TraceLog::Touched* known = log ? log->find(this) : nullptr) known->now = nullptr;
    replace(nullptr);
  }

  // Reads and changes that no trace notes.
  Tensor value() const {
    std::lock_guard lock(lock_);
    return value_;
  }
  void replace(Tensor value) {
    // Node::state_slots counts the cells only of pending values.
    if (value && !value->ready()) value->state_slots.fetch_add(1, std::memory_order_relaxed);
    {
      std::lock_guard lock(lock_);
      std::swap(value_, value);
    }
    if (value && !value->ready()) value->state_slots.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  friend Counted;
  ~StateCell() { replace(nullptr); }

  mutable SpinLock lock_;
  Tensor value_;
};

// Notes that `value`, which is ready and was a plain value until now, has become lasting state: a
// trace that recorded it as a fixed value must be recorded again.
inline void note_state(const Tensor& value) {
  value->state_slots.fetch_add(1, std::memory_order_relaxed);
}
// Grows with each note_state(); its start depends on the value's past.
inline int32_t times_state(const Tensor& value) {
  return value->state_slots.load(std::memory_order_relaxed);
}

// An owned cell.
class StateSlot {
 public:
  StateSlot() : cell_(new StateCell) {}
  explicit StateSlot(Tensor value) : StateSlot() { set(std::move(value)); }
  StateSlot(const StateSlot&) = delete;
  StateSlot& operator=(const StateSlot&) = delete;

  Tensor get() const { return cell_->get(); }
  void set(Tensor value) { cell_->set(std::move(value)); }
  void drop() { cell_->drop(); }
  StateCell& cell() const { return *cell_; }

 private:
  Ref<StateCell> cell_;
};

}  // namespace mt
