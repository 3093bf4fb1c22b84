// SPDX-License-Identifier: Apache-2.0
// The OpenMP runtime's threads, for programs that want the library to share them.
#include <omp.h>

#include "backends/cpu/parallel/float_mode.h"
#include "backends/cpu/parallel/parallel.h"

namespace mt::cpu::detail {

int available_threads() { return omp_get_num_procs(); }

void run_team(int64_t count, int team, int shares, Body body, void* context) {
  if (omp_in_parallel()) {
    body(context, 0, 0, count);
    return;
  }
  const int64_t all = int64_t{team} * shares;
#pragma omp parallel for schedule(dynamic) num_threads(team)
  for (int64_t share = 0; share < all; ++share) {
    int64_t begin = count * share / all, end = count * (share + 1) / all;
    if (begin == end) continue;
    const StandardFloatMode mode;  // not what the team began with
    body(context, omp_get_thread_num(), begin, end);
  }
}

}  // namespace mt::cpu::detail
