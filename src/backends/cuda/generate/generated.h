// SPDX-License-Identifier: Apache-2.0
// Generated kernels while they are compiled, and afterwards. Groups run by the interpreter until
// theirs is there; both give the same bits.
#pragma once

#include <atomic>
#include <string>

#include "backends/cuda/driver/driver.h"

namespace mt::cuda {

// One text's kernel; lives for ever.
class Generated {
 public:
  // nullptr while it is not there.
  Kernel* kernel() const { return kernel_.load(std::memory_order_acquire); }

 private:
  friend class Compilation;
  std::atomic<Kernel*> kernel_{nullptr};
};

// MT_CUDA_GENERATE=0 leaves all to the interpreter, =wait waits for each kernel; else they are
// compiled on a thread of their own.
bool generates();
// Whether some are still to come.
bool compiling();
const Generated& request_kernel(int device, const std::string& source);

}  // namespace mt::cuda
