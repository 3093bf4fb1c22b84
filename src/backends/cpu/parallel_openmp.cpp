// SPDX-License-Identifier: Apache-2.0
// The OpenMP runtime's threads, for programs that want the library to share them.
#include <omp.h>

#include "backends/cpu/parallel.h"

namespace mt::cpu::detail {

int available_threads() { return omp_get_num_procs(); }

void run_team(int64_t count, int team, Body body, void* context) {
  if (omp_in_parallel()) {
    body(context, 0, 0, count);
    return;
  }
#pragma omp parallel num_threads(team)
  {
    int64_t size = omp_get_num_threads();
    int index = omp_get_thread_num();
    int64_t begin = count * index / size, end = count * (index + 1) / size;
    if (begin < end) body(context, index, begin, end);
  }
}

}  // namespace mt::cpu::detail
