// SPDX-License-Identifier: Apache-2.0
// Element-wise groups.
//
// Idea: each thread computes whole elements, all instructions for one before the next, so that
// nothing but inputs and outputs goes through memory. Neighbouring threads take neighbouring
// elements, so that a warp's accesses to contiguous memory are a few whole lines.
//
// Shapes: a group has one or many segments, which run the same program on memory of their own. A
// block takes one tile of 1024 elements of one segment; the tiles of all segments are counted
// through, and a block finds its segment by halving. Registers are in local memory, which is
// reserved for all threads that a GPU can have at once: 512 for each take a gigabyte. So there are
// kernels with fewer as well.
#include "backends/cuda/kernels.h"
#include "backends/cuda/program/interpreter.h"

namespace mt::cuda {
namespace {

constexpr int threads = 256;

__device__ int segment_of(const ProgramView& program, int64_t tile) {
  int low = 0, high = program.segment_count - 1;  // the last segment that begins at or before it
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (view(program.segments, middle).first_tile <= tile) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

template <int most_registers>
__global__ void __launch_bounds__(threads) map_kernel(const ProgramView* group) {
  const ProgramView& program = view(group);
  int64_t tile = blockIdx.x;
  const SegmentView& segment = view(program.segments, segment_of(program, tile));
  int64_t count = segment.rows * segment.columns;
  int64_t first = (tile - segment.first_tile) * map_tile;
  int64_t end = first + map_tile < count ? first + map_tile : count;
  if (first + threadIdx.x >= end) return;
  LocalRegisters<most_registers> registers;
  run_once(program, segment, registers);
  for (int64_t at = first + threadIdx.x; at < end; at += threads) {
    run_element(program, segment, registers, at, program.count);
  }
}

}  // namespace

void launch_map(const ProgramView* program, int registers, int64_t tiles, Stream stream) {
  if (tiles == 0) return;
  auto kernel = registers <= 8     ? map_kernel<8>
                : registers <= 32  ? map_kernel<32>
                : registers <= 128 ? map_kernel<128>
                                   : map_kernel<most_registers>;
  launch("map", kernel, {static_cast<unsigned>(tiles)}, {threads}, 0, stream, program);
}

}  // namespace mt::cuda
