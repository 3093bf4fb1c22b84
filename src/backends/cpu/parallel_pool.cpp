// SPDX-License-Identifier: Apache-2.0
// Threads of our own. Against an OpenMP runtime they wait briefly and then sleep, so that they do
// not burn the cores which other programs want; they survive fork; and sanitizers understand them.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/cpu/parallel.h"

namespace mt::cpu {
namespace {

// Rounds of waiting before a thread sleeps: some ten microseconds, about what waking it costs.
constexpr int spin_rounds = 300;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// Waits until `value` differs from `old`; returns what it is then.
uint32_t wait_for_change(std::atomic<uint32_t>& value, uint32_t old) {
  for (int round = 0; round < spin_rounds; ++round) {
    uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

struct Job {
  detail::Body body = nullptr;
  void* context = nullptr;
  int64_t count = 0;
  int team = 0;
};

void run_share(const Job& job, int worker) {
  int64_t begin = job.count * worker / job.team, end = job.count * (worker + 1) / job.team;
  if (begin < end) job.body(job.context, worker, begin, end);
}

thread_local bool inside = false;

class Pool {
 public:
  // Only one caller at a time has the workers; another runs its work by itself.
  std::mutex busy;

  // Returns how many take part, the caller included.
  int grow(int team) {
    while (static_cast<int>(workers_.size()) < team - 1) {
      int index = static_cast<int>(workers_.size()) + 1;
      try {
        workers_.emplace_back([this, index, seen = generation_.load()] { work(index, seen); });
      } catch (...) {
        break;  // the system gives no more threads
      }
    }
    return std::min(team, static_cast<int>(workers_.size()) + 1);
  }

  void run(const Job& job) {
    job_ = job;
    remaining_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    inside = true;
    run_share(job, 0);
    inside = false;
    for (uint32_t left = remaining_.load(std::memory_order_acquire); left != 0;) {
      left = wait_for_change(remaining_, left);
    }
  }

 private:
  void work(int index, uint32_t seen) {
    inside = true;
    while (true) {
      seen = wait_for_change(generation_, seen);
      if (index < job_.team) run_share(job_, index);
      if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) remaining_.notify_one();
    }
  }

  std::vector<std::thread> workers_;
  std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> remaining_{0};
  Job job_;
};

std::atomic<Pool*> pool{nullptr};

Pool& the_pool() {
  Pool* current = pool.load(std::memory_order_acquire);
  if (current) return *current;
  static std::once_flag once;
  std::call_once(once, [] {
    // A forked child has none of the parent's threads: it starts a pool of its own.
    pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); });
  });
  // Never destroyed: its threads wait until the process ends.
  Pool* fresh = new Pool;
  if (pool.compare_exchange_strong(current, fresh)) return *fresh;
  delete fresh;
  return *current;
}

}  // namespace

namespace detail {

int available_threads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void run_team(int64_t count, int team, Body body, void* context) {
  if (!inside) {
    Pool& workers = the_pool();
    std::unique_lock lock(workers.busy, std::try_to_lock);
    if (lock) {
      team = workers.grow(team);
      workers.run({body, context, count, team});
      return;
    }
  }
  body(context, 0, 0, count);
}

}  // namespace detail
}  // namespace mt::cpu
