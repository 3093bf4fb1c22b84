// SPDX-License-Identifier: Apache-2.0
// Wakes a thread on another core than its caller's. A virtual machine's kernel takes sleeping cores
// for ones that the host has given to others (vcpu_is_preempted() in Linux), so it wakes the thread
// on its caller's core and leaves both there until cores are balanced, some milliseconds later,
// although another core is idle.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>

namespace mt::cpu {

class OtherCore {
 public:
  // Called while the thread sleeps: keeps it off that core, if it may use others.
  void keep_off(pthread_t thread, int core) {
    cpu_set_t cores;
    if (core < 0 || pthread_getaffinity_np(thread, sizeof cores, &cores) != 0) return;
    if (!CPU_ISSET(core, &cores) || CPU_COUNT(&cores) < 2) return;
    CPU_CLR(core, &cores);
    if (pthread_setaffinity_np(thread, sizeof cores, &cores) == 0) kept_off_ = core;
  }

  // Called by the thread itself once it has woken: it may use all cores as before.
  void allow_all() {
    const int core = kept_off_.exchange(-1);
    cpu_set_t cores;
    if (core < 0 || sched_getaffinity(0, sizeof cores, &cores) != 0) return;
    CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
  }

 private:
  std::atomic<int> kept_off_{-1};
};

}  // namespace mt::cpu
