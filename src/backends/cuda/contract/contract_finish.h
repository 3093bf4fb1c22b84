// SPDX-License-Identifier: Apache-2.0
// What becomes of the sums of contractions.
#pragma once

#include "backends/cuda/contract/contract.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/program/interpreter.h"

namespace mt::cuda {

// What follows a finished output: its own chain of element-wise work, if there is one.
struct Interpreted {
  const ProgramView* epilogue;

  __device__ void operator()(int64_t element) const {
    if (epilogue == nullptr) return;
    const ProgramView& program = view(epilogue);
    const SegmentView& segment = view(program.segments);
    LocalRegisters<epilogue_registers> registers;
    run_once(program, segment, registers);
    run_element(program, segment, registers, element, program.count);
  }
};

// Adds the panels of each output, if there are several, and finishes it.
void launch_float_panels(const ContractionView* call, const ContractionShape& shape, Stream stream);

}  // namespace mt::cuda
