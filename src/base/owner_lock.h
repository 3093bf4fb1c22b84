// SPDX-License-Identifier: Apache-2.0
// A recursive lock for data that one thread, its owner, uses all the time and others (visitors)
// hardly ever: a thread's window, its scopes. The owner enters with plain loads and stores. A
// visitor makes every running thread of the process execute a memory barrier (membarrier(2)), so
// that either it sees the owner inside or the owner sees it. Without that system call, and under
// the thread sanitizer, which cannot see it, the owner instead always enters with sequentially
// consistent stores, on the slow path otherwise taken only when there are visitors.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace mt {

class OwnerLock {
 public:
  // `barriers`: visitors can force a barrier on the owner; by default if the system supports it.
  explicit OwnerLock(bool barriers = can_interrupt());
  // `thread` is any address that identifies the thread; nullptr: no owner. An owner may be replaced
  // only while it is outside, and its leaving must happen before the new one enters.
  void set_owner(const void* thread) { owner_.store(thread, std::memory_order_relaxed); }

  // Whether the owner is inside; only the owner may ask.
  bool is_inside() const { return holds_.load(std::memory_order_relaxed) > 0; }

  // Holds the lock for the object's lifetime. `self` identifies the calling thread.
  class Hold {
   public:
    Hold(OwnerLock& lock, const void* self) : lock_(lock), outer_holds_(lock.enter(self)) {}
    ~Hold() { lock_.leave(outer_holds_); }
    Hold(const Hold&) = delete;

   private:
    OwnerLock& lock_;
    const int32_t outer_holds_;
  };

 private:
  static bool can_interrupt();

  // Bits of `attention_`: why the owner must take the slow path.
  enum : int32_t {
    visited = 1,     // a visitor is inside, or wants to be
    no_barriers = 2  // visitors can never force a barrier on the owner
  };

  // What enter() returns for leave(): how many holds the owner had already, or `visitor`.
  static constexpr int32_t visitor = -1;
  int32_t enter(const void* self) {
    if (owner_.load(std::memory_order_relaxed) != self) [[unlikely]]
      return enter_as_visitor();
    const int32_t outer_holds = holds_.load(std::memory_order_relaxed);
    holds_.store(outer_holds + 1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // visible before the owner looks
    if (attention_.load(std::memory_order_acquire)) [[unlikely]]
      enter_with_attention(outer_holds);
    return outer_holds;
  }
  void leave(int32_t outer_holds) {
    if (outer_holds == visitor) [[unlikely]]
      return leave_as_visitor();
    holds_.store(outer_holds, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (attention_.load(std::memory_order_relaxed)) [[unlikely]]
      leave_with_attention(outer_holds);
  }

  void enter_with_attention(int32_t outer_holds);
  void leave_with_attention(int32_t outer_holds);
  int32_t enter_as_visitor();
  void leave_as_visitor();

  std::atomic<const void*> owner_{nullptr};
  std::atomic<int32_t> holds_{0};  // the owner's; it is inside while there are any
  std::atomic<int32_t> attention_;
  std::recursive_mutex visitors_;  // one at a time
  int32_t visits_ = 0;             // that one's holds
};

}  // namespace mt
