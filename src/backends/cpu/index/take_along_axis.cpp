// SPDX-License-Identifier: Apache-2.0
// Takes elements, or adds them up, along one axis, each by an index of its own.
#include <algorithm>
#include <cstring>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"
#include "ops/checked_indices.h"

namespace mt::cpu {
namespace {

constexpr int64_t most_of_row = 4096;  // elements of a row that a thread takes at once

// The layout with the axis held still, to step through the rest.
Layout still(const Layout& layout, int axis, const Shape& shape) {
  Layout result = layout;
  result.shape = shape;
  result.strides[axis] = 0;
  result.offset = 0;
  return result;
}

// The last dimension that has more than one element; those after it need no loop.
int last_dimension(const Shape& shape) {
  int last = shape.rank() - 1;
  while (last > 0 && shape[last] == 1) --last;
  return last;
}

// Row by row along the last dimension: y[c] = x[base + c * along + index[c] * by_index].
template <class T>
void take(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &indices = call.inputs[1], &y = call.output;
  if (y.size() == 0) return;
  const Shape& shape = y.layout.shape;
  const int axis = static_cast<int>(call.attributes[0]), last = last_dimension(shape);
  const int64_t width = shape[last], size = x.layout.shape[axis];
  const Layout x_rows = dimensions(still(x.layout, axis, shape), 0, last);
  const Layout index_rows = dimensions(indices.layout, 0, last);
  const int64_t along = axis == last ? 0 : x.layout.strides[last];
  const int64_t by_index = x.layout.strides[axis], index_step = indices.layout.strides[last];
  const T* from = reinterpret_cast<const T*>(first_element(x));
  const int64_t* index = reinterpret_cast<const int64_t*>(first_element(indices));
  T* to = reinterpret_cast<T*>(first_element(y));
  // Long rows are divided into parts.
  const int64_t part = std::min(width, most_of_row), parts = divide_up(width, part);
  parallel_for(y.size() / width * parts, grain_of(part), [&](int64_t begin, int64_t end) {
    Walker x_walker(x_rows, begin / parts), index_walker(index_rows, begin / parts);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % parts * part, count = std::min(part, width - first);
      const T* source = from + x_walker.position() + first * along;
      const int64_t* chosen = index + index_walker.position() + first * index_step;
      T* target = to + item / parts * width + first;
      if (along == 0 && index_step == 1) {
        for (int64_t c = 0; c < count; ++c) {
          target[c] = source[wrapped_index(chosen[c], size) * by_index];
        }
      } else {
        for (int64_t c = 0; c < count; ++c) {
          target[c] = source[c * along + wrapped_index(chosen[c * index_step], size) * by_index];
        }
      }
      if (first + count < width) continue;
      x_walker.next();
      index_walker.next();
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

// Parallel over rows of the result, as in scatter: each thread takes the indices of its own rows.
template <class T>
void add(const NaiveCall& call) {
  const NaiveArray &values = call.inputs[0], &indices = call.inputs[1], &y = call.output;
  if (y.size() == 0) return;
  const int axis = static_cast<int>(call.attributes[0]), last = y.layout.shape.rank() - 1;
  const Shape& shape = indices.layout.shape;
  const int64_t size = y.layout.shape[axis], width = product(shape, axis + 1, last + 1);
  const int64_t outer = product(shape, 0, axis), length = shape[last];
  const int64_t rows =
      product(shape, axis, last + 1) / std::max<int64_t>(length, 1);  // of an outer
  const Layout value_rows = dimensions(values.layout, 0, last);
  const Layout index_rows = dimensions(indices.layout, 0, last);
  const int64_t along = axis == last ? 0 : 1, step = values.layout.strides[last];
  const int64_t index_step = indices.layout.strides[last];
  const T* from = reinterpret_cast<const T*>(first_element(values));
  const int64_t* index = reinterpret_cast<const int64_t*>(first_element(indices));
  T* to = reinterpret_cast<T*>(first_element(y));
  int64_t work = width + values.size() / (outer * size);
  parallel_shares(outer * size, grain_of(work), [&](int64_t begin, int64_t end) {
    std::memset(to + begin * width, 0, static_cast<size_t>((end - begin) * width) * sizeof(T));
    if (values.size() == 0) return;
    const int64_t first = begin / size;
    Walker value(value_rows, first * rows), chosen(index_rows, first * rows);
    const int64_t all = length, apart = index_step, stride = step, across = along;
    for (int64_t base = first * size; base < end; base += size) {
      const int64_t low = std::max(begin - base, int64_t{0});
      const auto span = static_cast<uint64_t>(std::min(end - base, size) - low);
      for (int64_t row = 0, column = 0; row < rows; ++row, value.next(), chosen.next()) {
        T* __restrict sums = to + (base + low) * width + column;
        const T* source = from + value.position();
        const int64_t* at = index + chosen.position();
        for (int64_t c = 0; c < all; ++c, at += apart, source += stride, sums += across) {
          const auto place = static_cast<uint64_t>(wrapped_index(*at, size) - low);
          if (place >= span) continue;
          T& sum = sums[static_cast<int64_t>(place) * width];
          sum = static_cast<T>(sum + *source);
        }
        column += across * all;
        if (column == width) column = 0;
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
