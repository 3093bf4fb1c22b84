// SPDX-License-Identifier: Apache-2.0
// What a thread calls before it works for long or waits for another one: see mt_before_work().
#pragma once

#include <atomic>

namespace mt {

struct BeforeWork {
  void (*function)();
  BeforeWork* next;
};

inline constinit std::atomic<BeforeWork*> first_before_work{nullptr};  // a list of those added

inline void before_work() {
  const BeforeWork* each = first_before_work.load(std::memory_order_acquire);
  for (; each; each = each->next) each->function();
}

}  // namespace mt
