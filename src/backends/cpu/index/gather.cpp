// SPDX-License-Identifier: Apache-2.0
// Rows picked, parallel over the rows of the result.
#include <algorithm>
#include <cstring>

#include "backends/cpu/index/indices.h"
#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/strided/strided.h"

namespace mt::cpu {
namespace {

template <class T>
void gather_elements(T* out, const T* x, const Indices& indices, const int64_t* strides,
                     int64_t begin, int64_t end) {
  if (indices.count == 1) {
    // Kept in registers, which bytes that are written could otherwise be part of.
    const int64_t size = indices.size[0], step = indices.stride[0], stride = strides[0];
    const int64_t* index = indices.data[0] + begin * step;
    for (int64_t j = begin; j < end; ++j, index += step) {
      *out++ = x[wrapped_index(*index, size) * stride];
    }
    return;
  }
  for (int64_t j = begin; j < end; ++j) {
    int64_t position = 0;
    for (int k = 0; k < indices.count; ++k) position += indices.at(k, j) * strides[k];
    *out++ = x[position];
  }
}

}  // namespace

void gather_kernel(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  if (y.size() == 0) return;
  int first = static_cast<int>(call.attributes[0]);
  size_t element = size_of(x.dtype);
  Indices indices(&call.inputs[1], call.inputs.size() - 1, x.layout.shape.data() + first);
  int after = first + indices.count, rank = x.layout.shape.rank();
  Layout outer = dimensions(x.layout, 0, first);
  Layout inner = collapse(dimensions(x.layout, after, rank));
  const int64_t* strides = x.layout.strides.data() + first;
  int64_t width = element_count(inner.shape), count = y.layout.shape[first];
  bool in_row = is_contiguous(inner);
  int64_t row_bytes = width * static_cast<int64_t>(element);
  const char* from = first_element(x);
  char* to = first_element(y);
  parallel_for(y.size() / width, grain_of(width), [&](int64_t begin, int64_t end) {
    Walker walker(outer, begin / count);
    for (int64_t row = begin; row < end; walker.next()) {
      const char* source = from + walker.position() * static_cast<int64_t>(element);
      int64_t j = row % count, last = std::min(count, j + end - row);
      char* target = to + row * row_bytes;
      row += last - j;
      if (width == 1) {
        with_bits(element, [&](auto zero) {
          using T = decltype(zero);
          gather_elements(reinterpret_cast<T*>(target), reinterpret_cast<const T*>(source), indices,
                          strides, j, last);
        });
        continue;
      }
      for (; j < last; ++j, target += row_bytes) {
        int64_t position = 0;
        for (int k = 0; k < indices.count; ++k) position += indices.at(k, j) * strides[k];
        const char* begin_of_row = source + position * static_cast<int64_t>(element);
        if (in_row) {
          std::memcpy(target, begin_of_row, static_cast<size_t>(row_bytes));
        } else {
          gather_strided(target, begin_of_row, element, inner, 0, width);
        }
      }
    }
  });
}

}  // namespace mt::cpu
