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

#include "backends/cpu/float_mode.h"
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

void run_share(const Job& job, int share) {
  int64_t begin = job.count * share / job.team, end = job.count * (share + 1) / job.team;
  if (begin < end) job.body(job.context, share, begin, end);
}

thread_local bool inside = false;

// The caller and the workers take shares of a job one after another. A worker that the system does
// not run in time takes none, and nobody waits for it: on busy cores the caller does the work.
class Pool {
 public:
  // Only one caller at a time has the workers; another runs its work by itself.
  std::mutex busy;

  void grow(int team) {
    while (static_cast<int>(workers_.size()) < team - 1) {
      try {
        workers_.emplace_back([this, seen = generation_.load()] { work(seen); });
      } catch (...) {
        return;  // the system gives no more threads
      }
    }
  }

  void run(const Job& job) {
    job_ = job;
    finished_.store(0, std::memory_order_relaxed);
    tickets_.store(static_cast<uint64_t>(job.team) << 32, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    inside = true;
    take_shares();
    inside = false;
    uint32_t team = static_cast<uint32_t>(job.team);
    for (uint32_t done = finished_.load(std::memory_order_acquire); done != team;) {
      done = wait_for_change(finished_, done);
    }
  }

 private:
  void work(uint32_t seen) {
    inside = true;
    StandardFloatMode mode;  // not what the thread that made this one had
    while (true) {
      seen = wait_for_change(generation_, seen);
      take_shares();
    }
  }

  // Tickets hold the team's size above the next share. Whoever has drawn one keeps the job from
  // ending, so that it may read it.
  void take_shares() {
    uint64_t ticket = tickets_.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(ticket) < ticket >> 32) {
      if (!tickets_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
        continue;
      }
      run_share(job_, static_cast<int>(static_cast<uint32_t>(ticket)));
      finished_.fetch_add(1, std::memory_order_acq_rel);
      finished_.notify_one();
      ticket = tickets_.load(std::memory_order_acquire);
    }
  }

  std::vector<std::thread> workers_;
  std::atomic<uint32_t> generation_{0};
  std::atomic<uint64_t> tickets_{0};
  std::atomic<uint32_t> finished_{0};
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
      workers.grow(team);
      workers.run({body, context, count, team});
      return;
    }
  }
  body(context, 0, 0, count);
}

}  // namespace detail
}  // namespace mt::cpu
