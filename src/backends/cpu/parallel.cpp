// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

namespace mt::cpu {
namespace {
std::atomic<int> requested{0};
}

int thread_count() {
  int count = requested.load(std::memory_order_relaxed);
  return count > 0 ? count : omp_get_num_procs();
}

void set_thread_count(int count) { requested.store(std::max(count, 0), std::memory_order_relaxed); }

namespace detail {

void parallel(int64_t count, int64_t grain, Body body, void* context) {
  int64_t most = (count + std::max<int64_t>(grain, 1) - 1) / std::max<int64_t>(grain, 1);
  int threads = static_cast<int>(std::min<int64_t>(thread_count(), most));
  if (threads <= 1 || omp_in_parallel()) {
    body(context, 0, 0, count);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    int64_t team = omp_get_num_threads();
    int index = omp_get_thread_num();
    int64_t begin = count * index / team, end = count * (index + 1) / team;
    if (begin < end) body(context, index, begin, end);
  }
}

}  // namespace detail
}  // namespace mt::cpu
