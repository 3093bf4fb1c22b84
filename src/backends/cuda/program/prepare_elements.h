// SPDX-License-Identifier: Apache-2.0
// Element-wise work: a launch of the kernel that is generated for it, or of the interpreter.
#pragma once

#include "backends/cuda/program/prepare_vectors.h"

namespace mt::cuda {

class PreparedElements {
 public:
  PreparedElements() = default;
  // The program's ProgramView lies at `at`; its segments have so many tiles.
  PreparedElements(const FusedProgram& fused, int device, const char* name, int64_t at,
                   int64_t tiles);

  // Whether it has a kernel of its own by now.
  bool is_compiled(const Run& run) const { return kernels_.way(run).kernel(); }
  void launch(const Run& run) const;

 private:
  VectorKernels kernels_;
  const char* name_ = "";
  int64_t at_ = 0, tiles_ = 0;
  int registers_ = 0;
};

}  // namespace mt::cuda
