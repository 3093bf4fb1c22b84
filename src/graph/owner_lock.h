// SPDX-License-Identifier: Apache-2.0
// A recursive lock for what one thread, its owner, uses all the time and others hardly ever: a
// thread's window, its scopes. The owner enters with plain loads and stores. A visitor pays for
// both: it makes every running thread of the process pass a memory barrier (membarrier(2)), so that
// either it sees that the owner is inside, or the owner sees the visitor. Where the system has no
// such call, and under the thread sanitizer, which cannot see it, the owner's stores are
// sequentially consistent instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace mt {

class OwnerLock {
 public:
  // `thread` is any address that belongs to the thread; nullptr: nobody owns it. Only an owner who
  // is not inside may be replaced, and the new one must know that he left.
  void set_owner(const void* thread) { owner_.store(thread, std::memory_order_relaxed); }

  // `self` belongs to the calling thread.
  void lock(const void* self) {
    if (owner_.load(std::memory_order_relaxed) != self) return enter_as_visitor();
    if (depth_++ > 0) return;
    announce(&inside_, 1);
    if (visited_.load(std::memory_order_acquire)) wait_for_visitors();
  }
  void unlock(const void* self) {
    if (owner_.load(std::memory_order_relaxed) != self) return leave_as_visitor();
    if (--depth_ > 0) return;
    announce(&inside_, 0);
    if (visited_.load(std::memory_order_relaxed)) inside_.notify_all();
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
  // Whether visitors interrupt the owner instead of the owner waiting for his own stores.
  static const bool barriers_by_visitors;

  // What the owner says becomes visible before he looks for visitors.
  static void announce(std::atomic<int32_t>* word, int32_t value) {
    if (barriers_by_visitors) {
      word->store(value, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      word->store(value, std::memory_order_seq_cst);
    }
  }
  void wait_for_visitors();
  void enter_as_visitor();
  void leave_as_visitor();

  std::atomic<const void*> owner_{nullptr};
  int32_t depth_ = 0;                // of the owner's holds
  std::atomic<int32_t> inside_{0};   // the owner is
  std::atomic<int32_t> visited_{0};  // a visitor is, or wants to be
  std::recursive_mutex visitors_;    // one at a time
  int32_t visits_ = 0;               // of that one's holds
};

}  // namespace mt
