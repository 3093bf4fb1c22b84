// SPDX-License-Identifier: Apache-2.0
// Elements added up where indices say.
//
// Idea: without atomics, so that the sums do not depend on which thread is first. What goes where
// is sorted: the targets' numbers are keys, and after a stable sort all that goes to one target
// lies together, in its own order. Each element of the result finds its run by halving and adds it
// up.
//
// Shapes: scatter adds rows [outer..., count, inner...], so it sorts `count` keys; add_along_axis
// has an index for every element, and sorts them all.
#include "backends/cuda/call_kernels.h"
#include "backends/cuda/device/operators.h"
#include "backends/cuda/device/positions.h"
#include "ops/checked_indices.h"

namespace mt::cuda {
namespace {

constexpr int threads = call_threads;

// Which row of the indexed axes, of the sizes given, entry j of the index tensors names.
__global__ void __launch_bounds__(threads)
    row_keys_kernel(const CallView* call, int first_index, bool of_output, int64_t* keys,
                    int64_t count) {
  const CallView& c = view(call);
  int64_t j = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (j >= count) return;
  int64_t row = 0;
  for (int k = first_index; k < c.input_count; ++k) {
    const ArrayView& indices = view(c.inputs, k);
    int64_t size = of_output ? c.output.layout.shape[k - first_index]
                             : load(c.attributes, 1 + k - first_index);
    int64_t index =
        load(reinterpret_cast<const int64_t*>(indices.data), position(indices.layout, j));
    row = row * size + wrapped_index(index, size);
  }
  store(keys, j, row);
}

// Which element of the result element i of the indices names.
__global__ void __launch_bounds__(threads)
    element_keys_kernel(const CallView* call, int64_t* keys, int64_t count) {
  const CallView& c = view(call);
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const ArrayView& indices = view(c.inputs, 1);
  int axis = static_cast<int>(load(c.attributes));
  int64_t inner = extent(indices.layout, axis + 1, indices.layout.rank);
  int64_t size = c.output.layout.shape[axis], outer = i / (inner * indices.layout.shape[axis]);
  int64_t index = load(reinterpret_cast<const int64_t*>(indices.data), position(indices.layout, i));
  store(keys, i, (outer * size + wrapped_index(index, size)) * inner + i % inner);
}

// The first place in sorted order whose key is not below.
__device__ int64_t lower_bound(const int64_t* keys, const int64_t* sorted, int64_t count,
                               int64_t key) {
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (load(keys, load(sorted, middle)) < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The result is [outer, rows, inner], the values [outer, count, inner].
__global__ void __launch_bounds__(threads)
    sum_kernel(const CallView* call, const int64_t* keys, const int64_t* sorted, int64_t rows,
               int64_t inner, int64_t count, int64_t results) {
  const CallView& c = view(call);
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= results) return;
  const ArrayView& values = view(c.inputs);
  int64_t row = i / inner % rows, outer = i / (inner * rows);
  with_compute(compute_of(values.dtype), [&](auto sum) {
    using T = decltype(sum);
    sum = 0;
    for (int64_t p = lower_bound(keys, sorted, count, row); p < count; ++p) {
      int64_t j = load(sorted, p);
      if (load(keys, j) != row) break;
      int64_t from = position(values.layout, (outer * count + j) * inner + i % inner);
      sum = combine(Reduction::sum, sum, unpack<T>(load_number(values.data, values.dtype, from)));
    }
    store_number(c.output.data, c.output.dtype, i, pack(sum));
  });
}

__global__ void __launch_bounds__(threads) last_kernel(const int64_t* keys, const int64_t* sorted,
                                                       int64_t count, int64_t* out, int64_t rows) {
  int64_t row = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (row >= rows) return;
  int64_t end = lower_bound(keys, sorted, count, row + 1);
  int64_t last = end > 0 ? load(sorted, end - 1) : -1;
  store(out, row, last >= 0 && load(keys, last) == row ? last : -1);
}

int64_t size_of_input(const CallGroup& group, size_t i) {
  return element_count(group.inputs[i].layout.shape);
}
int64_t scratch_for(int64_t keys) { return 3 * 8 * keys; }

// Keys, and the positions that sort them.
struct Sorted {
  int64_t *keys, *positions;
};
Sorted sorted_keys(const Call& call, int64_t count) {
  auto* keys = reinterpret_cast<int64_t*>(call.scratch);
  if (count == 0) return {keys, keys};
  int64_t* positions = sort_positions(reinterpret_cast<const char*>(keys), Dtype::int64, 1, count,
                                      false, keys + count, keys + 2 * count, call.stream);
  return {keys, positions};
}

void launch_row_keys(const Call& call, int first_index, bool of_output, int64_t count) {
  if (count == 0) return;
  launch("scatter keys", row_keys_kernel, {call_blocks(count)}, {threads}, 0, call.stream,
         call.view, first_index, of_output, reinterpret_cast<int64_t*>(call.scratch), count);
}

void launch_sum(const Call& call, int64_t rows, int64_t inner, int64_t count) {
  int64_t results = element_count(call.group.output.layout.shape);
  Sorted sorted = sorted_keys(call, count);
  launch(call.group.op->name, sum_kernel, {call_blocks(results)}, {threads}, 0, call.stream,
         call.view, sorted.keys, sorted.positions, rows, inner, count, results);
}

}  // namespace

int64_t scatter_scratch(const CallGroup& group) { return scratch_for(size_of_input(group, 1)); }
int64_t add_along_axis_scratch(const CallGroup& group) {
  return scratch_for(size_of_input(group, 0));
}
int64_t last_writer_scratch(const CallGroup& group) { return scratch_for(size_of_input(group, 0)); }

void launch_scatter(const Call& call) {
  const CallGroup& group = call.group;
  if (element_count(group.output.layout.shape) == 0) return;
  const Shape& values = group.inputs[0].layout.shape;
  int first = static_cast<int>(group.attributes[0]);
  int64_t rows = 1, inner = 1, count = values[first];
  for (size_t k = 1; k < group.attributes.size(); ++k) rows *= group.attributes[k];
  for (int d = first + 1; d < values.rank(); ++d) inner *= values[d];
  launch_row_keys(call, 1, false, count);
  launch_sum(call, rows, inner, count);
}

void launch_add_along_axis(const Call& call) {
  int64_t results = element_count(call.group.output.layout.shape);
  int64_t count = size_of_input(call.group, 0);
  if (results == 0) return;
  if (count > 0) {
    launch("add_along_axis keys", element_keys_kernel, {call_blocks(count)}, {threads}, 0,
           call.stream, call.view, reinterpret_cast<int64_t*>(call.scratch), count);
  }
  launch_sum(call, results, 1, count);
}

void launch_last_writer(const Call& call) {
  int64_t rows = element_count(call.group.output.layout.shape);
  int64_t count = size_of_input(call.group, 0);
  if (rows == 0) return;
  launch_row_keys(call, 0, true, count);
  Sorted sorted = sorted_keys(call, count);
  launch("last_writer", last_kernel, {call_blocks(rows)}, {threads}, 0, call.stream, sorted.keys,
         sorted.positions, count, reinterpret_cast<int64_t*>(call.output), rows);
}

}  // namespace mt::cuda
