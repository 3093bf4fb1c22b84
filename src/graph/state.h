// SPDX-License-Identifier: Apache-2.0
// Lasting state: values that outlive the computation that made them.
#pragma once

#include <atomic>
#include <mutex>

#include "base/spin_lock.h"
#include "graph/node.h"
#include "graph/trace_log.h"

namespace mt {

// A place that holds a value which can be exchanged for another: a parameter, its gradient, an
// optimizer's moment. A value that is pending in such a place is stored by every evaluation, so
// that no chain of steps can grow; and a trace that reads or changes the place does so again at
// every replay. Any thread may use it at any time but while a replay changes it, perhaps in place.
// While a trace records, what its thread changes is seen by that thread alone.
class StateCell : public Counted<StateCell> {
 public:
  // Reading and changing as a program does it: a trace takes note.
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
  // What a program would read; no trace takes note.
  Tensor peek() const {
    TraceLog* log = TraceLog::current();
    const TraceLog::Touched* known = log ? log->find(this) : nullptr;
    return known ? known->now : value();
  }
  // Holds nothing from now on, also where a trace is recording.
  void drop() {
    TraceLog* log = TraceLog::current();
    if (TraceLog::Touched* known = log ? log->find(this) : nullptr) known->now = nullptr;
    replace(nullptr);
  }

  // Reading and changing behind a trace's back.
  Tensor value() const {
    std::lock_guard lock(lock_);
    return value_;
  }
  void replace(Tensor value) {
    // Only what is pending is asked for its places.
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

// Takes note that `value`, which is ready, has become lasting state of somebody who had it as a
// plain value until then: a trace that takes it for a value that always stays is to be recorded
// anew.
inline void note_state(const Tensor& value) {
  value->state_slots.fetch_add(1, std::memory_order_relaxed);
}
// How often that has happened.
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
