// SPDX-License-Identifier: Apache-2.0
// What a parallel region costs beside its work, which sets the grains: below this it does not pay.
#include "backends/cpu/parallel/parallel.h"

#include <benchmark/benchmark.h>

#include <atomic>

namespace {

// Argument: threads. One index each, no work.
void empty_region(benchmark::State& state) {
  int threads = static_cast<int>(state.range(0));
  mt::cpu::set_thread_count(threads);
  std::atomic<int64_t> visited{0};
  for (auto _ : state) {
    mt::cpu::parallel_for(threads, 0, [&](int64_t begin, int64_t end) {
      visited.fetch_add(end - begin, std::memory_order_relaxed);
    });
  }
  if (visited != threads * static_cast<int64_t>(state.iterations())) {
    state.SkipWithError("not every index was visited");
  }
  mt::cpu::set_thread_count(0);
}
BENCHMARK(empty_region)->RangeMultiplier(2)->Range(1, 4)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
