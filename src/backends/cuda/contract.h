// SPDX-License-Identifier: Apache-2.0
// What the kernels of contractions share: fetching operands, and what becomes of a finished sum.
#pragma once

#include "backends/cuda/interpreter.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/tile.h"

namespace mt::cuda {

// How one operand moves along a group of dimensions, as if they were one.
__device__ inline int64_t offset(const AxesView& axes, int64_t index) {
  if (axes.count == 1) return index * axes.stride[0];
  int64_t result = 0;
  for (int d = axes.count - 1; d >= 0; --d) {
    result += index % axes.size[d] * axes.stride[d];
    index /= axes.size[d];
  }
  return result;
}

// Sums are float, double, or uint64 for all integers.
template <class T>
__device__ T load_as(const char* data, Dtype dtype, int64_t i) {
  if (sizeof(T) == 4 && dtype == Dtype::float32) return load(reinterpret_cast<const T*>(data), i);
  if (sizeof(T) == 8 && dtype == Dtype::float64) return load(reinterpret_cast<const T*>(data), i);
  Value value = load_number(data, dtype, i);
  return with_compute(compute_of(dtype), [&](auto x) {
    x = unpack<decltype(x)>(value);
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(cpu::convert<int64_t>(x));
    else
      return cpu::convert<T>(x);
  });
}

template <class T>
__device__ void store_sum(char* out, Dtype dtype, int64_t i, T sum) {
  if constexpr (std::is_integral_v<T>) {
    if (dtype == Dtype::boolean) sum = sum != 0;
    store_number(out, dtype, i, static_cast<Value>(sum));
  } else {
    Value value =
        dtype == Dtype::float64 ? pack(static_cast<double>(sum)) : pack(static_cast<float>(sum));
    store_number(out, dtype, i, value);
  }
}

// What follows a finished output: its own chain of element-wise work.
__device__ inline void finish(const ProgramView* epilogue, int64_t element) {
  const ProgramView& program = view(epilogue);
  const SegmentView& segment = view(program.segments);
  LocalRegisters<epilogue_registers> registers;
  run_once(program, segment, registers);
  run_element(program, segment, registers, element, program.count);
}

// Adds the panels of each output, if there are several, and finishes it.
void launch_float_panels(const ContractionView* call, const ContractionShape& shape, Stream stream);

}  // namespace mt::cuda
