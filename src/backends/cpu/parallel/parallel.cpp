// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/parallel/parallel.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/parallel/quota.h"
#include "backends/host.h"
#include "base/environment.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {
std::atomic<int> requested{0};
// Shares of a thread's part: enough that a thread that does not run holds up the others only
// briefly, and so few that they cost nothing.
constexpr int64_t range_shares = 4;
}  // namespace

int thread_count() {
  int count = requested.load(std::memory_order_relaxed);
  if (count > 0) return count;
  static const int available = [] {
    if (int given = counted_setting("MT_THREADS", host::most_threads)) return given;
    int threads = detail::available_threads(), quota = processor_quota();
    return quota > 0 ? std::min(threads, quota) : threads;
  }();
  return available;
}

void set_thread_count(int count) { requested.store(std::max(count, 0), std::memory_order_relaxed); }

void detail::parallel(int64_t count, int64_t grain, int threads, Body body, void* context) {
  grain = std::max<int64_t>(grain, 1);
  int64_t most = divide_up(count, grain);
  int team = static_cast<int>(std::min<int64_t>(threads, most));
  if (team <= 1) {
    body(context, 0, 0, count);
  } else {
    int shares = static_cast<int>(std::min<int64_t>(range_shares, most / team));
    run_team(count, team, shares, body, context);
  }
}

}  // namespace mt::cpu
