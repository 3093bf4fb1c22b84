// SPDX-License-Identifier: Apache-2.0
// A recursive lock for what one thread takes again and again and others hardly ever: one atomic
// exchange to take it, a plain store to give it back. Others look again from time to time.
#pragma once

#include <atomic>

namespace mt {

class OwnLock {
 public:
  void lock() {
    const void* self = this_thread();
    if (owner_.load(std::memory_order_relaxed) == self) {
      ++depth_;
      return;
    }
    const void* nobody = nullptr;
    if (!owner_.compare_exchange_strong(nobody, self, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      wait(self);
    }
    depth_ = 1;
  }
  void unlock() {
    if (--depth_ == 0) owner_.store(nullptr, std::memory_order_release);
  }

 private:
  void wait(const void* self);

  // An address that only this thread has.
  static const void* this_thread() {
#if defined(__has_builtin) && defined(__x86_64__)
#if __has_builtin(__builtin_thread_pointer)
    return __builtin_thread_pointer();
#endif
#endif
    return &marker_;
  }
  static constinit thread_local char marker_;

  std::atomic<const void*> owner_{nullptr};
  int depth_ = 0;
};

}  // namespace mt
