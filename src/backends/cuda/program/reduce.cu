// SPDX-License-Identifier: Apache-2.0
// Reductions too long for a row group: element-wise work, then one reduction over long rows or over
// leading dimensions.
//
// Idea: two stages, in the order of ops/order.h. First every panel of reduced elements gives one
// partial result: a warp takes a panel of a row, lane l adding elements l, l + 32, ..., or, where
// leading dimensions are reduced, a thread takes a panel of one column, and neighbouring threads
// neighbouring columns. Then the panels of each result are combined pairwise: at each level the
// first of a pair takes in the second, until one is left. No size is special, and nothing depends
// on which block runs first.
//
// Shapes: elements are [outer, reduced, inner]; inner is 1 for rows. Partial results are
// [outer, panels, inner].
#include "backends/cuda/kernels.h"
#include "backends/cuda/program/interpreter.h"

namespace mt::cuda {
namespace {

constexpr int threads = 128;

// The reduction is the program's last instruction.
template <int most_registers, class T>
__device__ T reduced_range(const ProgramView& program, const Instruction& last, Reduction reduction,
                           int64_t first, int64_t step, int64_t count) {
  const SegmentView& segment = view(program.segments);
  LocalRegisters<most_registers> registers;
  run_once(program, segment, registers);
  T result = identity_of<T>(reduction);
  for (int64_t j = 0; j < count; ++j) {
    int64_t at = first + j * step;
    run_element(program, segment, registers, at, program.count - 1);
    result = combine(reduction, result, unpack<T>(read_place(segment, registers, last.in[0], at)));
  }
  return result;
}

template <int most_registers>
__global__ void __launch_bounds__(threads)
    rows_kernel(const ProgramView* group, ReductionShape shape) {
  const ProgramView& program = view(group);
  const Instruction& last = view(program.instructions, program.count - 1);
  int64_t task = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (task >= shape.outer * shape.panels) return;
  int64_t begin = task % shape.panels * shape.panel;
  int64_t end = begin + shape.panel < shape.reduced ? begin + shape.panel : shape.reduced;
  int64_t count = begin + lane < end ? (end - begin - lane + 31) / 32 : 0;
  int64_t first = task / shape.panels * shape.reduced + begin + lane;
  with_compute(last.type, [&](auto x) {
    using T = decltype(x);
    x = reduced_range<most_registers, T>(program, last, shape.reduction, first, 32, count);
    x = combine_lanes(shape.reduction, x);
    if (lane == 0) store(view(program.panels).partials, task, pack(x));
  });
}

template <int most_registers>
__global__ void __launch_bounds__(threads)
    columns_kernel(const ProgramView* group, ReductionShape shape) {
  const ProgramView& program = view(group);
  const Instruction& last = view(program.instructions, program.count - 1);
  int64_t task = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (task >= shape.outer * shape.panels * shape.inner) return;
  int64_t column = task % shape.inner, panel = task / shape.inner % shape.panels;
  int64_t begin = panel * shape.panel;
  int64_t end = begin + shape.panel < shape.reduced ? begin + shape.panel : shape.reduced;
  int64_t outer = task / shape.inner / shape.panels;
  int64_t first = (outer * shape.reduced + begin) * shape.inner + column;
  with_compute(last.type, [&](auto x) {
    using T = decltype(x);
    x = reduced_range<most_registers, T>(program, last, shape.reduction, first, shape.inner,
                                         end - begin);
    store(view(program.panels).partials, task, pack(x));
  });
}

// blockDim.x threads combine the panels of one result; a block has blockDim.y results.
__global__ void __launch_bounds__(threads)
    combine_kernel(ReductionShape shape, Value* partials, char* out, Dtype dtype) {
  int64_t result = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  bool within = result < shape.outer * shape.inner;
  int64_t outer = result / shape.inner, column = result % shape.inner;
  Value* own = partials + outer * shape.panels * shape.inner + column;
  with_compute(shape.type, [&](auto x) {
    using T = decltype(x);
    for (int64_t apart = 1; apart < shape.panels; apart *= 2) {
      for (int64_t p = threadIdx.x * 2 * apart; within && p + apart < shape.panels;
           p += blockDim.x * 2 * apart) {
        T left = unpack<T>(load(own, p * shape.inner));
        T right = unpack<T>(load(own, (p + apart) * shape.inner));
        store(own, p * shape.inner, pack(combine(shape.reduction, left, right)));
      }
      __syncthreads();
    }
  });
  if (within && threadIdx.x == 0) store_number(out, dtype, result, load(own));
}

}  // namespace

void launch_panels(const ProgramView* program, int registers, const ReductionShape& shape,
                   Stream stream) {
  Dim3 blocks{static_cast<unsigned>((shape.tasks() + threads - 1) / threads)};
  auto rows = registers <= 16    ? rows_kernel<16>
              : registers <= 128 ? rows_kernel<128>
                                 : rows_kernel<most_registers>;
  auto columns = registers <= 16    ? columns_kernel<16>
                 : registers <= 128 ? columns_kernel<128>
                                    : columns_kernel<most_registers>;
  launch(shape.in_lanes ? "reduce rows" : "reduce columns", shape.in_lanes ? rows : columns, blocks,
         {threads}, 0, stream, program, shape);
}

void launch_combine(const ReductionShape& shape, Value* partials, void* out, Dtype dtype,
                    Stream stream) {
  unsigned together = 1;
  while (together < threads && 2 * together < shape.panels) together *= 2;
  unsigned beside = threads / together;
  launch("combine", combine_kernel,
         {static_cast<unsigned>((shape.results() + beside - 1) / beside)}, {together, beside}, 0,
         stream, shape, partials, static_cast<char*>(out), dtype);
}

}  // namespace mt::cuda
