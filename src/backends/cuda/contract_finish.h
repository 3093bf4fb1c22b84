// SPDX-License-Identifier: Apache-2.0
// What becomes of the sums of contractions.
#pragma once

#include "backends/cuda/contract.h"
#include "backends/cuda/interpreter.h"
#include "backends/cuda/kernels.h"

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

// A sum that the tensor cores have made, for its slab or the result.
template <Factor factor>
__device__ void store_product(const ContractionView& c, int64_t at, float sum) {
  if (c.panels > 1 || c.out_dtype == Dtype::float32) {
    return store(reinterpret_cast<float*>(c.panels > 1 ? c.slabs : c.out), at, sum);
  }
  store(reinterpret_cast<uint16_t*>(c.out), at,
        factor == Factor::bfloat16 ? cpu::float_to_bfloat16(sum) : cpu::float_to_float16(sum));
}

// Adds the panels of each output, if there are several, and finishes it.
void launch_float_panels(const ContractionView* call, const ContractionShape& shape, Stream stream);

}  // namespace mt::cuda
