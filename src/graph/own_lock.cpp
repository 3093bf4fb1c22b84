// SPDX-License-Identifier: Apache-2.0
#include "graph/own_lock.h"

#include <chrono>
#include <thread>

namespace mt {

constinit thread_local char OwnLock::marker_ = 0;

void OwnLock::wait(const void* self) {
  // Held for a few instructions, or else for as long as an evaluation takes.
  for (int tries = 0;; ++tries) {
    const void* nobody = nullptr;
    if (owner_.load(std::memory_order_relaxed) == nullptr &&
        owner_.compare_exchange_weak(nobody, self, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      return;
    }
    if (tries < 64) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

}  // namespace mt
