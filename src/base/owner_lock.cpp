// SPDX-License-Identifier: Apache-2.0
#include "base/owner_lock.h"

#include "base/before_work.h"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace mt {
namespace {

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
bool ask_for_barriers() {
  return syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}
void barrier_on_every_thread() {
  while (syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) ask_for_barriers();
}
#else
bool ask_for_barriers() { return false; }
void barrier_on_every_thread() {}
#endif

}  // namespace

bool OwnerLock::can_interrupt() {
  static const bool can = ask_for_barriers();
  return can;
}

OwnerLock::OwnerLock(bool barriers) : attention_(barriers ? 0 : no_barriers) {}

void OwnerLock::enter_with_attention(int32_t outer_holds) {
  if (outer_holds > 0) return;
  holds_.store(1, std::memory_order_seq_cst);
  if (!(attention_.load(std::memory_order_seq_cst) & visited)) return;
  before_work();
  holds_.store(0, std::memory_order_seq_cst);
  holds_.notify_all();
  // While this is held no visitor is inside, and the next one will see the owner.
  std::lock_guard none(visitors_);
  holds_.store(1, std::memory_order_seq_cst);
}

void OwnerLock::leave_with_attention(int32_t outer_holds) {
  if (outer_holds > 0) return;
  holds_.store(0, std::memory_order_seq_cst);
  if (attention_.load(std::memory_order_seq_cst) & visited) holds_.notify_all();
}

int32_t OwnerLock::enter_as_visitor() {
  before_work();
  visitors_.lock();
  if (visits_++ > 0) return visitor;
  const int32_t before = attention_.fetch_or(visited, std::memory_order_seq_cst);
  if (!(before & no_barriers)) barrier_on_every_thread();
  while (int32_t holds = holds_.load(std::memory_order_seq_cst)) holds_.wait(holds);
  return visitor;
}

void OwnerLock::leave_as_visitor() {
  if (--visits_ == 0) attention_.fetch_and(~visited, std::memory_order_release);
  visitors_.unlock();
}

}  // namespace mt
