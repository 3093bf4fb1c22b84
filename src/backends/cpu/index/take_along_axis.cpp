// SPDX-License-Identifier: Apache-2.0
// Elements picked, or added up, along one axis, each by an index of its own.
#include <cstring>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "ops/checked_indices.h"

namespace mt::cpu {
namespace {

// The layout with the axis held still: what remains is stepped through.
Layout still(const Layout& layout, int axis, const Shape& shape) {
  Layout result = layout;
  result.shape = shape;
  result.strides[axis] = 0;
  result.offset = 0;
  return result;
}

// Row by row along the last dimension: y[c] = x[base + c * along + index[c] * by_index].
template <class T>
void take(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &indices = call.inputs[1], &y = call.output;
  if (y.size() == 0) return;
  int axis = static_cast<int>(call.attributes[0]), last = y.layout.shape.rank() - 1;
  const Shape& shape = y.layout.shape;
  int64_t width = shape[last], size = x.layout.shape[axis];
  Layout x_rows = dimensions(still(x.layout, axis, shape), 0, last);
  Layout index_rows = dimensions(indices.layout, 0, last);
  int64_t along = axis == last ? 0 : x.layout.strides[last];
  int64_t by_index = x.layout.strides[axis], index_step = indices.layout.strides[last];
  const T* from = reinterpret_cast<const T*>(first_element(x));
  const int64_t* index = reinterpret_cast<const int64_t*>(first_element(indices));
  T* to = reinterpret_cast<T*>(first_element(y));
  parallel_for(y.size() / width, grain_of(width), [&](int64_t begin, int64_t end) {
    Walker x_walker(x_rows, begin), index_walker(index_rows, begin);
    for (int64_t row = begin; row < end; ++row, x_walker.next(), index_walker.next()) {
      const T* source = from + x_walker.position();
      const int64_t* chosen = index + index_walker.position();
      T* target = to + row * width;
      if (along == 0 && index_step == 1) {
        for (int64_t c = 0; c < width; ++c) {
          target[c] = source[wrapped_index(chosen[c], size) * by_index];
        }
        continue;
      }
      for (int64_t c = 0; c < width; ++c) {
        target[c] = source[c * along + wrapped_index(chosen[c * index_step], size) * by_index];
      }
    }
  });
}

// Whether there is one index for each position along the axis, and so for whole rows.
bool by_rows(const Layout& indices, int axis) {
  for (int d = 0; d < indices.shape.rank(); ++d) {
    if (d != axis && indices.shape[d] > 1 && indices.strides[d] != 0) return false;
  }
  return true;
}

void add_rows(const NaiveCall& call, int axis, void* scratch, int threads) {
  NaiveArray inputs[2] = {call.inputs[0], call.inputs[1]};
  inputs[1].layout = dimensions(inputs[1].layout, axis, axis + 1);
  inputs[1].layout.offset = call.inputs[1].layout.offset;
  Attributes attributes{axis, call.output.layout.shape[axis]};
  scatter_kernel({call.op, attributes, call.immediates, inputs, call.output}, scratch, threads);
}

// Parallel over rows of the result, as in scatter: each thread takes the indices that fall to it.
template <class T>
void add(const NaiveCall& call) {
  const NaiveArray &values = call.inputs[0], &indices = call.inputs[1], &y = call.output;
  if (y.size() == 0) return;
  int axis = static_cast<int>(call.attributes[0]), rank = y.layout.shape.rank();
  const Shape& shape = indices.layout.shape;
  int64_t size = y.layout.shape[axis], width = product(shape, axis + 1, rank);
  int64_t outer = product(shape, 0, axis), count = shape[axis];
  Layout value_layout = values.layout, index_layout = indices.layout;
  value_layout.offset = index_layout.offset = 0;
  const T* from = reinterpret_cast<const T*>(first_element(values));
  const int64_t* index = reinterpret_cast<const int64_t*>(first_element(indices));
  T* to = reinterpret_cast<T*>(first_element(y));
  int64_t work = width + values.size() / (outer * size);
  parallel_shares(outer * size, grain_of(work), [&](int64_t begin, int64_t end) {
    std::memset(to + begin * width, 0, static_cast<size_t>((end - begin) * width) * sizeof(T));
    if (count == 0) return;
    int64_t start = begin / size, stop = (end - 1) / size + 1;
    Walker value(value_layout, start * count * width), chosen(index_layout, start * count * width);
    for (int64_t o = start; o < stop; ++o) {
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t c = 0; c < width; ++c, value.next(), chosen.next()) {
          int64_t row = o * size + wrapped_index(index[chosen.position()], size);
          if (row < begin || row >= end) continue;
          T& sum = to[row * width + c];
          sum = static_cast<T>(sum + from[value.position()]);
        }
      }
    }
  });
}

}  // namespace

void take_along_axis_kernel(const NaiveCall& call) {
  with_bits(size_of(call.output.dtype), [&](auto zero) { take<decltype(zero)>(call); });
}

int64_t add_along_axis_scratch(const CallGroup& group, int) {
  int axis = static_cast<int>(group.attributes[0]);
  const Shape& shape = group.inputs[0].layout.shape;
  if (!by_rows(group.inputs[1].layout, axis)) return 0;
  return scatter_scratch_bytes(shape[axis], group.output.layout.shape[axis],
                               product(shape, axis + 1, shape.rank()), group.output.dtype);
}

void add_along_axis_kernel(const NaiveCall& call, void* scratch, int threads) {
  int axis = static_cast<int>(call.attributes[0]);
  bool half = is_half(call.output.dtype), boolean = call.output.dtype == Dtype::boolean;
  if (half || boolean) return naive_value(call);
  if (by_rows(call.inputs[1].layout, axis)) return add_rows(call, axis, scratch, threads);
  switch (call.output.dtype) {
    case Dtype::float32: return add<float>(call);
    case Dtype::float64: return add<double>(call);
    default: with_bits(size_of(call.output.dtype), [&](auto zero) { add<decltype(zero)>(call); });
  }
}

}  // namespace mt::cpu
