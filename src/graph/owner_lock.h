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

  // `self` belongs to the calling thread.
  void lock(const void* self) {
    if (owner_.load(std::memory_order_relaxed) != self) return enter_as_visitor();
    if (depth_++ > 0) return;
    inside_.store(1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // visible before the owner looks
    if (attention_.load(std::memory_order_acquire)) enter_with_attention();
  }
  void unlock(const void* self) {
    if (owner_.load(std::memory_order_relaxed) != self) return leave_as_visitor();
    if (--depth_ > 0) return;
    inside_.store(0, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (attention_.load(std::memory_order_relaxed)) leave_with_attention();
  }

  class Hold {
   public:
    Hold(OwnerLock& lock, const void* self) : lock_(lock), self_(self) { lock_.lock(self_); }
    ~Hold() { lock_.unlock(self_); }
    Hold(const Hold&) = delete;

   private:
    OwnerLock& lock_;
    const void* self_;
  };

 private:
  static bool can_interrupt();

  // What the owner must pay attention to: bits of `attention_`.
  enum : int32_t {
    visited = 1,     // a visitor is inside, or wants to be
    no_barriers = 2  // and visitors cannot interrupt the owner, ever
  };

  void enter_with_attention();
  void leave_with_attention();
  void enter_as_visitor();
  void leave_as_visitor();

  std::atomic<const void*> owner_{nullptr};
  int32_t depth_ = 0;               // of the owner's holds
  std::atomic<int32_t> inside_{0};  // the owner is
  std::atomic<int32_t> attention_;
  std::recursive_mutex visitors_;  // one at a time
  int32_t visits_ = 0;             // of that one's holds
};

}  // namespace mt
