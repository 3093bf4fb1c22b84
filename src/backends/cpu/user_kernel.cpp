// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/user_kernel.h"

#include <atomic>
#include <exception>
#include <mutex>

#include "backends/cpu/parallel/parallel.h"
#include "ops/kernel.h"

namespace mt::cpu {

// Runs blocks in parallel, each on one thread. Of several failures, the first block's is rethrown.
void run_kernel(const NaiveCall& call) {
  const KernelCall kernel(call);
  const int64_t blocks = kernel.launch.blocks();
  std::atomic<int64_t> failed{blocks};
  std::exception_ptr failure;
  std::mutex mutex;
  auto keep = [&](int64_t index) {
    std::lock_guard lock(mutex);
    if (index >= failed) return;
    failed = index;
    failure = std::current_exception();
  };
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end && index < failed.load(std::memory_order_relaxed);
         ++index) {
      try {
        kernel.run_block(index);
      } catch (...) {
        keep(index);
      }
    }
  };
  kernel.launch.kernel->serial ? run(0, blocks) : parallel_for(blocks, 1, run);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mt::cpu
