// SPDX-License-Identifier: Apache-2.0
// What depends on all elements before: running sums, linear recurrences, and the positions of the
// elements that are not 0.
//
// Idea: lines are cut into panels; first each panel by itself, then the panels' totals one after
// another, then every element is given the total of the panels before its own.
#include "backends/cuda/call_kernels.h"
#include "backends/cuda/device/operators.h"
#include "backends/cuda/device/positions.h"
#include "ops/order.h"

namespace mt::cuda {
namespace {

constexpr int threads = call_threads;
constexpr int64_t panel = running_panel, chain = running_chain;
constexpr int64_t chunk = 4 * threads;  // elements that a block looks through for others than 0

struct Lines {
  int64_t outer, length, inner, panels;
};

template <class T>
__device__ T add(T a, T b) {
  return combine(Reduction::sum, a, b);
}

// A thread sums one panel of one line: chain after chain, each added to those before it.
template <class T>
__global__ void __launch_bounds__(threads) panel_kernel(const T* x, T* y, Lines lines) {
  int64_t task = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (task >= lines.outer * lines.panels * lines.inner) return;
  int64_t column = task % lines.inner, p = task / lines.inner % lines.panels;
  int64_t outer = task / lines.inner / lines.panels, begin = p * panel;
  int64_t end = begin + panel < lines.length ? begin + panel : lines.length;
  int64_t at = (outer * lines.length + begin) * lines.inner + column;
  T sum = load(x, at), before = 0;
  bool chains = lines.inner == 1;
  store(y, at, chains ? add(before, sum) : sum);
  for (int64_t i = begin + 1; i < end; ++i) {
    at += lines.inner;
    if (chains && (i - begin) % chain == 0) {
      before = add(before, sum);
      sum = load(x, at);
    } else {
      sum = add(sum, load(x, at));
    }
    store(y, at, chains ? add(before, sum) : sum);
  }
}

__device__ int64_t last_of_panel(const Lines& lines, int64_t outer, int64_t p, int64_t column) {
  int64_t end = (p + 1) * panel < lines.length ? (p + 1) * panel : lines.length;
  return (outer * lines.length + end - 1) * lines.inner + column;
}

// The last element of each panel becomes the sum of everything up to it.
template <class T>
__global__ void __launch_bounds__(threads) totals_kernel(T* y, Lines lines) {
  int64_t line = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (line >= lines.outer * lines.inner) return;
  int64_t outer = line / lines.inner, column = line % lines.inner;
  T sum = load(y, last_of_panel(lines, outer, 0, column));
  for (int64_t p = 1; p < lines.panels; ++p) {
    int64_t at = last_of_panel(lines, outer, p, column);
    store(y, at, sum = add(sum, load(y, at)));
  }
}

template <class T>
__global__ void __launch_bounds__(threads) spread_kernel(T* y, Lines lines, int64_t count) {
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  int64_t along = i / lines.inner % lines.length, p = along / panel;
  int64_t outer = i / lines.inner / lines.length, column = i % lines.inner;
  if (p == 0 || i == last_of_panel(lines, outer, p, column)) return;
  store(y, i, add(load(y, last_of_panel(lines, outer, p - 1, column)), load(y, i)));
}

template <class T>
void launch_sums(const Call& call, const Lines& lines) {
  const T* x = reinterpret_cast<const T*>(call.input);
  T* y = reinterpret_cast<T*>(call.output);
  int64_t count = lines.outer * lines.length * lines.inner;
  launch("cumulative_sum", panel_kernel<T>, {call_blocks(lines.outer * lines.panels * lines.inner)},
         {threads}, 0, call.stream, x, y, lines);
  if (lines.panels == 1) return;
  launch("cumulative_sum", totals_kernel<T>, {call_blocks(lines.outer * lines.inner)}, {threads}, 0,
         call.stream, y, lines);
  launch("cumulative_sum", spread_kernel<T>, {call_blocks(count)}, {threads}, 0, call.stream, y,
         lines, count);
}

Lines lines_of(const CallGroup& group) {
  const Shape& shape = group.output.layout.shape;
  int axis = static_cast<int>(group.attributes[0]);
  Lines lines{1, shape[axis], 1, (shape[axis] + panel - 1) / panel};
  for (int d = 0; d < axis; ++d) lines.outer *= shape[d];
  for (int d = axis + 1; d < shape.rank(); ++d) lines.inner *= shape[d];
  return lines;
}

// y[i] = a[i] y[i - 1] + b[i] along a line, which one thread follows from end to end; floats in
// float64, as the operator's definition has it.
__global__ void __launch_bounds__(threads) recurrence_kernel(const CallView* call, Lines lines) {
  const CallView& c = view(call);
  int64_t line = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (line >= lines.outer * lines.inner) return;
  const ArrayView &a = view(c.inputs), &b = view(c.inputs, 1);
  Dtype dtype = c.output.dtype;
  Compute type = compute_of(dtype);
  int64_t first = line / lines.inner * lines.length * lines.inner + line % lines.inner;
  double number = 0;
  uint64_t whole = 0;
  for (int64_t i = 0; i < lines.length; ++i) {
    int64_t at = first + i * lines.inner;
    Value left = load_number(a.data, dtype, position(a.layout, at));
    Value right = load_number(b.data, dtype, position(b.layout, at));
    if (is_floating(dtype)) {
      double x = unpack<double>(convert_number(type, Compute::f64, left));
      double y = unpack<double>(convert_number(type, Compute::f64, right));
      number = i ? x * number + y : y;
      store_number(c.output.data, dtype, at, convert_number(Compute::f64, type, pack(number)));
    } else {
      whole = (i ? convert_number(type, Compute::u64, left) : 0) * whole +
              convert_number(type, Compute::u64, right);
      store_number(c.output.data, dtype, at, whole);
    }
  }
}

// How many of the block's threads before this one, and how many in all.
struct Count {
  int before, all;
};
__device__ Count count_before(int own) {
  auto sums = shared<int>();
  int t = static_cast<int>(threadIdx.x), sum = own;
  for (int apart = 1; apart < threads; apart *= 2) {
    sums[t] = sum;
    __syncthreads();
    if (t >= apart) sum += static_cast<int>(sums[t - apart]);
    __syncthreads();
  }
  sums[t] = sum;
  __syncthreads();
  return {sum - own, sums[threads - 1]};
}

// Each thread looks at four neighbouring elements.
__device__ int count_own(const uint8_t* mask, int64_t first, int64_t count) {
  int found = 0;
  for (int64_t i = first; i < first + 4 && i < count; ++i) found += load(mask, i) != 0;
  return found;
}

__global__ void __launch_bounds__(threads)
    count_kernel(const uint8_t* mask, int64_t count, int64_t* found) {
  int64_t first = int64_t{blockIdx.x} * chunk + threadIdx.x * 4;
  Count in_block = count_before(count_own(mask, first, count));
  if (threadIdx.x == 0) store(found, blockIdx.x, in_block.all);
}

__global__ void offsets_kernel(int64_t* found, int64_t chunks) {
  int64_t before = 0;
  for (int64_t i = 0; i < chunks; ++i) {
    int64_t own = load(found, i);
    store(found, i, before);
    before += own;
  }
}

// The output is [count] for positions or [count, rank] for one along each axis.
__global__ void __launch_bounds__(threads)
    positions_kernel(const CallView* call, int64_t count, const int64_t* offsets) {
  const CallView& c = view(call);
  const ArrayView& x = view(c.inputs);
  const auto* mask = reinterpret_cast<const uint8_t*>(x.data);
  auto* out = reinterpret_cast<int64_t*>(c.output.data);
  int64_t first = int64_t{blockIdx.x} * chunk + threadIdx.x * 4;
  int rank = c.output.layout.rank == 2 ? x.layout.rank : 0;
  int64_t at = load(offsets, blockIdx.x) + count_before(count_own(mask, first, count)).before;
  for (int64_t i = first; i < first + 4 && i < count; ++i) {
    if (load(mask, i) == 0 || at >= c.output.layout.shape[0]) continue;
    if (rank == 0) store(out, at, i);
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      store(out, at * rank + d, rest % x.layout.shape[d]);
      rest /= x.layout.shape[d];
    }
    ++at;
  }
}

int64_t mask_size(const CallGroup& group) { return element_count(group.inputs[0].layout.shape); }

}  // namespace

void launch_cumulative_sum(const Call& call) {
  Lines lines = lines_of(call.group);
  if (lines.outer * lines.length * lines.inner == 0) return;
  switch (call.group.output.dtype) {
    case Dtype::float32: return launch_sums<float>(call, lines);
    case Dtype::float64: return launch_sums<double>(call, lines);
    default: return launch_sums<uint64_t>(call, lines);
  }
}

void launch_recurrence(const Call& call) {
  Lines lines = lines_of(call.group);
  if (lines.outer * lines.inner == 0) return;
  launch("recurrence", recurrence_kernel, {call_blocks(lines.outer * lines.inner)}, {threads}, 0,
         call.stream, call.view, lines);
}

int64_t nonzero_scratch(const CallGroup& group) {
  return (mask_size(group) + chunk - 1) / chunk * 8;
}

void launch_nonzero(const Call& call) {
  int64_t count = mask_size(call.group), chunks = (count + chunk - 1) / chunk;
  if (element_count(call.group.output.layout.shape) == 0) return;
  const auto* mask = reinterpret_cast<const uint8_t*>(call.input);
  auto* offsets = reinterpret_cast<int64_t*>(call.scratch);
  Dim3 blocks{static_cast<unsigned>(chunks)};
  size_t bytes = threads * sizeof(int);
  launch("nonzero", count_kernel, blocks, {threads}, bytes, call.stream, mask, count, offsets);
  launch("nonzero", offsets_kernel, {1}, {1}, 0, call.stream, offsets, chunks);
  launch("nonzero", positions_kernel, blocks, {threads}, bytes, call.stream, call.view, count,
         offsets);
}

}  // namespace mt::cuda
