// SPDX-License-Identifier: Apache-2.0
// A recursive lock for what one thread, its owner, uses all the time and others hardly ever: a
// thread's window, its scopes. The owner enters with plain loads and stores. A visitor pays for
// both: it makes every running thread of the process pass a memory barrier (membarrier(2)), so that
// either it sees that the owner is inside, or the owner sees the visitor. Where the system has no
// such call, and under the thread sanitizer, which cannot see it, the owner says sequentially
// consistently that he is inside, on a way that is otherwise taken for visitors alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace mt {

class OwnerLock {
 public:
  // `barriers`: visitors can interrupt the owner; by default where the system lets them.
  explicit OwnerLock(bool barriers = can_interrupt());
  // `thread` is any address that belongs to the thread; nullptr: nobody owns it. Only an owner who
  // is not inside may be replaced, and the new one must know that he left.
  void set_owner(const void* thread) { owner_.store(thread, std::memory_order_relaxed); }

  // For the owner alone: whether he is inside.
  bool is_inside() const { return holds_.load(std::memory_order_relaxed) > 0; }

  // Inside for the object's life. `self` belongs to the calling thread.
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

  // What the owner must pay attention to: bits of `attention_`.
  enum : int32_t {
    visited = 1,     // a visitor is inside, or wants to be
    no_barriers = 2  // and visitors cannot interrupt the owner, ever
  };

  // The owner gets the number of his holds that were there already, for leaving; a visitor
  // `visitor`.
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
  std::atomic<int32_t> holds_{0};  // of the owner, who is inside while there are any
  std::atomic<int32_t> attention_;
  std::recursive_mutex visitors_;  // one at a time
  int32_t visits_ = 0;             // of that one's holds
};

}  // namespace mt
