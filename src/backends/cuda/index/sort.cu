// SPDX-License-Identifier: Apache-2.0
// Sorting: the positions that sort each row, and the elements in that order.
//
// Idea: merge sort in which every element finds its own place. Two sorted runs become one: an
// element of the left run goes as far as its place there plus the number of elements of the right
// run that come before it, which halving finds; an element of the right run likewise, but past
// equal ones of the left, so that the sort is stable. No thread waits for another; a pass for each
// doubling of the runs.
//
// Shapes: rows of `length` keys; two arrays of positions [rows, length] take turns.
#include "backends/cuda/call_kernels.h"
#include "backends/cuda/device/operators.h"
#include "backends/cuda/device/positions.h"

namespace mt::cuda {
namespace {

constexpr int threads = call_threads;

// A NaN comes after everything.
template <class T>
__device__ bool comes_before(T a, T b) {
  return a < b || (a == a && b != b);
}

template <class T>
struct Row {
  const char* keys;
  Dtype dtype;
  int64_t first;  // of its keys
  bool descending;
  __device__ T key(int64_t i) const { return unpack<T>(load_number(keys, dtype, first + i)); }
  __device__ bool before(T a, T b) const {
    return descending ? comes_before(b, a) : comes_before(a, b);
  }
};

__global__ void __launch_bounds__(threads)
    number_kernel(int64_t* positions, int64_t length, int64_t count) {
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count) store(positions, i, i % length);
}

__global__ void __launch_bounds__(threads)
    merge_kernel(const char* keys, Dtype dtype, bool descending, const int64_t* from, int64_t* to,
                 int64_t width, int64_t length, int64_t count) {
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  int64_t at = i % length, first = i - at, run = at / width;
  bool left = run % 2 == 0;
  int64_t sibling = (left ? run + 1 : run - 1) * width;
  int64_t low = sibling < length ? sibling : length;
  int64_t high = sibling + width < length ? sibling + width : length;
  int64_t begin = low;
  with_compute(compute_of(dtype), [&](auto x) {
    using T = decltype(x);
    Row<T> row{keys, dtype, first, descending};
    T own = row.key(load(from, i));
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      T other = row.key(load(from, first + middle));
      if (left ? row.before(other, own) : !row.before(own, other)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
  });
  int64_t pair = run / 2 * 2 * width;
  store(to, first + pair + at % width + (low - begin), load(from, i));
}

__global__ void __launch_bounds__(threads) keep_kernel(const int64_t* positions, int64_t length,
                                                       int64_t* out, int64_t kept, int64_t count) {
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count) store(out, i, load(positions, i / kept * length + i % kept));
}

template <class Bits>
__global__ void __launch_bounds__(threads)
    order_kernel(const int64_t* positions, const char* x, int64_t length, char* y, int64_t count) {
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  int64_t from = i / length * length + load(positions, i);
  store(reinterpret_cast<Bits*>(y), i, load(reinterpret_cast<const Bits*>(x), from));
}

// inputs: a sorted vector, and values; attributes: right
__global__ void __launch_bounds__(threads)
    searchsorted_kernel(const CallView* call, int64_t count) {
  const CallView& c = view(call);
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const ArrayView &sorted = view(c.inputs), &values = view(c.inputs, 1);
  bool right = load(c.attributes) != 0;
  int64_t low = 0, high = sorted.layout.shape[0];
  with_compute(compute_of(values.dtype), [&](auto x) {
    using T = decltype(x);
    T own = unpack<T>(load_number(values.data, values.dtype, position(values.layout, i)));
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      T other = unpack<T>(load_number(sorted.data, sorted.dtype, position(sorted.layout, middle)));
      if (right ? !comes_before(own, other) : comes_before(other, own)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
  });
  store(reinterpret_cast<int64_t*>(c.output.data), i, low);
}

int64_t keys_of(const CallGroup& group) { return element_count(group.inputs[0].layout.shape); }

int64_t* sort_operand(const Call& call) {
  const Operand& x = call.group.inputs[0];
  int64_t length = x.layout.shape.back(), count = keys_of(call.group);
  auto* positions = reinterpret_cast<int64_t*>(call.scratch);
  return sort_positions(call.input, x.dtype, count / length, length, call.group.attributes[0],
                        positions, positions + count, call.stream);
}

}  // namespace

int64_t* sort_positions(const char* keys, Dtype dtype, int64_t rows, int64_t length,
                        bool descending, int64_t* positions, int64_t* spare, Stream stream) {
  int64_t count = rows * length;
  Dim3 blocks{call_blocks(count)};
  launch("sort", number_kernel, blocks, {threads}, 0, stream, positions, length, count);
  for (int64_t width = 1; width < length; width *= 2) {
    launch("sort", merge_kernel, blocks, {threads}, 0, stream, keys, dtype, descending, positions,
           spare, width, length, count);
    std::swap(positions, spare);
  }
  return positions;
}

int64_t argsort_scratch(const CallGroup& group) { return 2 * 8 * keys_of(group); }

void launch_argsort(const Call& call) {
  const Operand &x = call.group.inputs[0], &y = call.group.output;
  int64_t length = x.layout.shape.back(), kept = y.layout.shape.back();
  int64_t results = element_count(y.layout.shape);
  if (results == 0) return;
  launch("argsort", keep_kernel, {call_blocks(results)}, {threads}, 0, call.stream,
         sort_operand(call), length, reinterpret_cast<int64_t*>(call.output), kept, results);
}

void launch_sort(const Call& call) {
  const Operand& x = call.group.inputs[0];
  int64_t count = keys_of(call.group);
  if (count == 0) return;
  size_t size = size_of(x.dtype);
  auto kernel = size == 1   ? order_kernel<uint8_t>
                : size == 2 ? order_kernel<uint16_t>
                : size == 4 ? order_kernel<uint32_t>
                            : order_kernel<uint64_t>;
  launch("sort", kernel, {call_blocks(count)}, {threads}, 0, call.stream, sort_operand(call),
         call.input, x.layout.shape.back(), call.output, count);
}

void launch_searchsorted(const Call& call) {
  int64_t count = element_count(call.group.output.layout.shape);
  if (count == 0) return;
  launch("searchsorted", searchsorted_kernel, {call_blocks(count)}, {threads}, 0, call.stream,
         call.view, count);
}

}  // namespace mt::cuda
