// SPDX-License-Identifier: Apache-2.0
// A lock in one byte, for a few instructions at a time.
#pragma once

#include <atomic>
#include <thread>

namespace mt {

class SpinLock {
 public:
  void lock() {
    for (int round = 0; locked_.test_and_set(std::memory_order_acquire); ++round) {
      if (round > 100) std::this_thread::yield();  // its holder may wait for this core
    }
  }
  void unlock() { locked_.clear(std::memory_order_release); }

 private:
  std::atomic_flag locked_ = ATOMIC_FLAG_INIT;
};

}  // namespace mt
