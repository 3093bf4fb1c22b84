// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements: each element of the result is one of an operand's.
//
// Idea: a thread makes one element of the result and works out where it comes from; so writes are
// always in order, and nothing is written twice. Elements move as bits, whatever their type.
#include "backends/cuda/call_kernels.h"
#include "backends/cuda/device/numbers.h"
#include "backends/cuda/device/positions.h"
#include "ops/checked_indices.h"

namespace mt::cuda {
namespace {

constexpr int threads = call_threads;

// An operand's element; no operand: the immediate.
struct Source {
  int operand;
  int64_t element;
};

__device__ int64_t index_at(const ArrayView& indices, int64_t i, int64_t size) {
  const auto* data = reinterpret_cast<const int64_t*>(indices.data);
  return wrapped_index(load(data, position(indices.layout, i)), size);
}

// x [outer..., sizes..., inner...], and an index tensor [count] for each of the sizes.
struct Gather {
  static __device__ Source source(const CallView& c, int64_t i) {
    const LayoutView& x = view(c.inputs).layout;
    int first = static_cast<int>(load(c.attributes)), indexed = c.input_count - 1;
    int64_t inner = extent(x, first + indexed, x.rank), count = c.output.layout.shape[first];
    int64_t j = i / inner % count, row = i / (inner * count);
    for (int k = 0; k < indexed; ++k) {
      int64_t size = x.shape[first + k];
      row = row * size + index_at(view(c.inputs, 1 + k), j, size);
    }
    return {0, row * inner + i % inner};
  }
};

// x and indices, equal but along the axis.
struct TakeAlongAxis {
  static __device__ Source source(const CallView& c, int64_t i) {
    const LayoutView &x = view(c.inputs).layout, &y = c.output.layout;
    int axis = static_cast<int>(load(c.attributes));
    int64_t inner = extent(y, axis + 1, y.rank), outer = i / (inner * y.shape[axis]);
    int64_t named = index_at(view(c.inputs, 1), i, x.shape[axis]);
    return {0, (outer * x.shape[axis] + named) * inner + i % inner};
  }
};

struct Concat {
  static __device__ Source source(const CallView& c, int64_t i) {
    const LayoutView& y = c.output.layout;
    int axis = static_cast<int>(load(c.attributes)), operand = 0;
    int64_t inner = extent(y, axis + 1, y.rank);
    int64_t along = i / inner % y.shape[axis], outer = i / (inner * y.shape[axis]);
    while (along >= view(c.inputs, operand).layout.shape[axis]) {
      along -= view(c.inputs, operand).layout.shape[axis];
      ++operand;
    }
    int64_t length = view(c.inputs, operand).layout.shape[axis];
    return {operand, (outer * length + along) * inner + i % inner};
  }
};

// Which of `size` positions from `start` on, `step` apart, a position is; -1 if none.
__device__ int64_t index_along(int64_t position, int64_t start, int64_t step, int64_t size) {
  int64_t at = position - start;
  if (step < 0) at = -at, step = -step;
  return at >= 0 && at % step == 0 && at / step < size ? at / step : -1;
}

// A block is given by start and step of each axis.
struct Pad {
  static __device__ Source source(const CallView& c, int64_t i) {
    const LayoutView& block = view(c.inputs).layout;
    int64_t element = 0, scale = 1;
    for (int d = block.rank - 1; d >= 0; --d) {
      const int64_t size = c.output.layout.shape[d];
      const int64_t at = index_along(i % size, load(c.attributes, 2 * d),
                                     load(c.attributes, 2 * d + 1), block.shape[d]);
      if (at < 0) return {-1, -1};
      element += at * scale;
      scale *= block.shape[d];
      i /= size;
    }
    return {0, element};
  }
};

// A block is given by its first element, the immediate, and the step of each axis.
struct Overlay {
  static __device__ Source source(const CallView& c, int64_t i) {
    const LayoutView& block = view(c.inputs, 1).layout;
    int64_t first = static_cast<int64_t>(c.immediate.value[0]), rest = i, element = 0, scale = 1;
    for (int d = block.rank - 1; d >= 0; --d) {
      const int64_t size = c.output.layout.shape[d];
      const int64_t at =
          index_along(rest % size, first % size, load(c.attributes, d), block.shape[d]);
      if (at < 0) return {0, i};
      element += at * scale;
      scale *= block.shape[d];
      rest /= size;
      first /= size;
    }
    return {1, element};
  }
};

template <class Operator, class Bits>
__global__ void __launch_bounds__(threads) move_kernel(const CallView* call, int64_t count) {
  const CallView& c = view(call);
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  Source source = Operator::source(c, i);
  if (source.operand < 0) {
    Value value = c.immediate.value[0];
    if (compute_of(c.output.dtype) == Compute::f32) {
      value = pack(static_cast<float>(unpack<double>(value)));
    }
    return store_number(c.output.data, c.output.dtype, i, value);
  }
  const ArrayView& from = view(c.inputs, source.operand);
  Bits bits = load(reinterpret_cast<const Bits*>(from.data), position(from.layout, source.element));
  store(reinterpret_cast<Bits*>(c.output.data), i, bits);
}

template <class Operator>
void launch_move(const Call& call) {
  const Operand& output = call.group.output;
  int64_t count = element_count(output.layout.shape);
  if (count == 0) return;
  size_t size = size_of(output.dtype);
  auto kernel = size == 1   ? move_kernel<Operator, uint8_t>
                : size == 2 ? move_kernel<Operator, uint16_t>
                : size == 4 ? move_kernel<Operator, uint32_t>
                            : move_kernel<Operator, uint64_t>;
  launch(call.group.op->name, kernel, {call_blocks(count)}, {threads}, 0, call.stream, call.view,
         count);
}

}  // namespace

void launch_gather(const Call& call) { launch_move<Gather>(call); }
void launch_take_along_axis(const Call& call) { launch_move<TakeAlongAxis>(call); }
void launch_concat(const Call& call) { launch_move<Concat>(call); }
void launch_pad(const Call& call) { launch_move<Pad>(call); }
void launch_overlay(const Call& call) { launch_move<Overlay>(call); }

}  // namespace mt::cuda
