// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/program/prepare_elements.h"

namespace mt::cuda {

PreparedElements::PreparedElements(const FusedProgram& fused, int device, const char* name,
                                   int64_t at, int64_t tiles)
    : name_(name), at_(at), tiles_(tiles), registers_(fused.program.registers) {
  if (tiles > 0) kernels_ = VectorKernels(fused, device, generate_elements);
}

void PreparedElements::launch(const Run& run) const {
  if (tiles_ == 0) return;
  const auto* program = run.description<ProgramView>(at_);
  const VectorKernels::Way& way = kernels_.way(run);
  Kernel* kernel = way.kernel();
  if (!kernel) return launch_map(program, registers_, tiles_, run.stream);
  launch_compiled(kernel, name_, static_cast<unsigned>(tiles_), threads_of(way.vectors), 0,
                  run.stream, program);
}

}  // namespace mt::cuda
