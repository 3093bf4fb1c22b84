// SPDX-License-Identifier: Apache-2.0
// The library's own threads. Unlike an OpenMP runtime's they wait briefly and then sleep, so as not
// to burn cores that other programs want; they survive fork; and sanitizers understand them.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/cpu/parallel/float_mode.h"
#include "backends/cpu/parallel/other_core.h"
#include "backends/cpu/parallel/parallel.h"

namespace mt::cpu {
namespace {

// How long a thread waits before it sleeps: longer than small models take between two regions, as
// waking a thread takes as long as a region, and on busy cores until the next time slice.
constexpr std::chrono::microseconds patience{250};
constexpr int rounds = 16;  // of waiting between two looks at the clock

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// Whether `value` soon differs from `old`.
bool changes_soon(const std::atomic<uint32_t>& value, uint32_t old) {
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    for (int round = 0; round < rounds; ++round) {
      if (value.load(std::memory_order_acquire) != old) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

struct Job {
  detail::Body body = nullptr;
  void* context = nullptr;
  int64_t count = 0;
  int team = 0, shares = 0;  // of each member

  int64_t all_shares() const { return int64_t{team} * shares; }
  void run_share(int member, int64_t share) const {
    int64_t begin = count * share / all_shares(), end = count * (share + 1) / all_shares();
    if (begin < end) body(context, member, begin, end);
  }
};

// The shares of one member that no thread has begun: the next one, their end and the size of the
// team, in one word. Beside it, what the member waits for.
class Queue {
 public:
  uint32_t calls() const { return calls_.load(std::memory_order_relaxed); }
  // `thread` is the member's, `core` the caller's.
  void call(pthread_t thread, int core) {
    if (asleep_.load(std::memory_order_relaxed) && asleep_.exchange(false)) {
      other_core_.keep_off(thread, core);
    }
    calls_.fetch_add(1, std::memory_order_release);
    calls_.notify_one();
  }
  uint32_t wait_for_call(uint32_t seen) {
    if (!changes_soon(calls_, seen)) sleep_until_call(seen);
    return calls_.load(std::memory_order_acquire);
  }

  void fill(int64_t next, int64_t end, int team) {
    word_.store(static_cast<uint64_t>(team) << 48 | static_cast<uint64_t>(end) << 24 |
                    static_cast<uint64_t>(next),
                std::memory_order_release);
  }
  // Takes a share from the front, or from the back, which its owner reaches last. -1 if none is
  // left, or if the member is beyond the team.
  int64_t take(int member, bool front) {
    uint64_t word = word_.load(std::memory_order_acquire);
    while ((word & last) < (word >> 24 & last) && static_cast<uint64_t>(member) < word >> 48) {
      const uint64_t rest = front ? word + 1 : word - (uint64_t{1} << 24);
      if (word_.compare_exchange_weak(word, rest, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return static_cast<int64_t>((front ? word : rest >> 24) & last);
      }
    }
    return -1;
  }

 private:
  void sleep_until_call(uint32_t seen) {
    asleep_ = true;
    calls_.wait(seen, std::memory_order_acquire);
    asleep_ = false;
    other_core_.allow_all();
  }

  static constexpr uint64_t last = (1 << 24) - 1;
  alignas(64) std::atomic<uint64_t> word_{0};
  std::atomic<uint32_t> calls_{0};
  std::atomic<bool> asleep_{false};  // and not called since
  OtherCore other_core_;
};

constexpr int most_members = 1024;

thread_local bool inside = false;

// The caller and the workers take shares of a job one after another: first their own, which are
// adjacent and the same as the last time, then those of others. A worker that the system does not
// run in time takes none, and nothing waits for it: on busy cores the caller does the work.
class Pool {
 public:
  // Only one caller at a time has the workers; another runs its work by itself.
  std::mutex busy;

  // Starts the workers that are missing; returns how many of the team there are.
  int grow(int team) {
    while (static_cast<int>(workers_.size()) < std::min(team, most_members) - 1) {
      const int member = static_cast<int>(workers_.size()) + 1;
      try {
        workers_.emplace_back(
            [this, member, seen = queues_[member].calls()] { work(member, seen); });
      } catch (...) {
        break;  // the system gives no more threads
      }
    }
    const int members = static_cast<int>(workers_.size()) + 1;
    members_.store(members, std::memory_order_relaxed);
    return std::min(team, members);
  }

  void run(const Job& job) {
    job_ = job;
    finished_.store(0, std::memory_order_relaxed);
    for (int m = 0; m < job.team; ++m) {
      queues_[m].fill(int64_t{m} * job.shares, int64_t{m + 1} * job.shares, job.team);
    }
    const int core = sched_getcpu();
    for (int m = 1; m < job.team; ++m) queues_[m].call(workers_[m - 1].native_handle(), core);
    inside = true;
    take_shares(0);
    inside = false;
    uint32_t all = static_cast<uint32_t>(job.all_shares());
    for (uint32_t done; (done = finished_.load(std::memory_order_acquire)) != all;) {
      if (!changes_soon(finished_, done)) finished_.wait(done, std::memory_order_acquire);
    }
  }

 private:
  void work(int member, uint32_t seen) {
    inside = true;
    StandardFloatMode mode;  // not what the thread that made this one had
    while (true) {
      seen = queues_[member].wait_for_call(seen);
      take_shares(member);
    }
  }

  // A thread that has taken a share keeps the job from ending, so it may read the job.
  void take_shares(int member) {
    const int members = members_.load(std::memory_order_relaxed);
    for (int i = 0; i < members; ++i) {
      Queue& queue = queues_[(member + i) % members];
      uint32_t done = 0, all = 0;
      for (int64_t share; (share = queue.take(member, i == 0)) >= 0; ++done) {
        all = static_cast<uint32_t>(job_.all_shares());
        job_.run_share(member, share);
      }
      // Counted together: what all threads write has to come from another core each time.
      if (done && finished_.fetch_add(done, std::memory_order_acq_rel) + done == all) {
        finished_.notify_one();
      }
    }
  }

  std::vector<std::thread> workers_;
  std::atomic<int> members_{1};
  std::atomic<uint32_t> finished_{0};
  Job job_;
  Queue queues_[most_members];
};

std::atomic<Pool*> pool{nullptr};

// nullptr: there is no memory for one.
Pool* the_pool() {
  Pool* current = pool.load(std::memory_order_acquire);
  if (current) return current;
  static std::once_flag once;
  std::call_once(once, [] {
    // A forked child has none of the parent's threads: it starts a pool of its own.
    pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); });
  });
  // Never destroyed: its threads wait until the process ends.
  Pool* fresh = new (std::nothrow) Pool;
  if (!fresh || pool.compare_exchange_strong(current, fresh)) return fresh;
  delete fresh;
  return current;
}

}  // namespace

namespace detail {

int available_threads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void run_team(int64_t count, int team, int shares, Body body, void* context) {
  if (Pool* workers = inside ? nullptr : the_pool()) {
    std::unique_lock lock(workers->busy, std::try_to_lock);
    if (lock) {
      team = workers->grow(team);
      workers->run({body, context, count, team, shares});
      return;
    }
  }
  body(context, 0, 0, count);
}

}  // namespace detail
}  // namespace mt::cpu
