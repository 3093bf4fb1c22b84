// SPDX-License-Identifier: Apache-2.0
// Gathers rows and replaces rows, in parallel over the rows of the result.
#include <algorithm>

#include "backends/cpu/cache.h"
#include "backends/cpu/index/fetch_row.h"
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
    // Locals stay in registers; bytes that are written could be part of the members.
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

void copy_row(void* to, const void* from, int64_t bytes) {
  copy_bytes(to, from, static_cast<size_t>(bytes));
}

// Whether rows are written past the caches: lines written in part cost more than that saves.
bool streams_rows(const void* to, int64_t row_bytes, int64_t rows) {
  constexpr int64_t long_row = 6 * cache_line;
  const bool whole_lines = (reinterpret_cast<uintptr_t>(to) | static_cast<uintptr_t>(row_bytes)) %
                               static_cast<uintptr_t>(cache_line) ==
                           0;
  return rows * row_bytes >= last_cache && (whole_lines || row_bytes >= long_row);
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
  const bool streams = in_row && streams_rows(to, row_bytes, y.size() / width);
  const Kernel stream = streaming_kernel(element);
  const bool fetches =
      streams || (in_row && x.size() * static_cast<int64_t>(element) > second_cache);
  parallel_for(y.size() / width, grain_of(width), [&](int64_t begin, int64_t end) {
    Walker walker(outer, begin / count);
    int64_t j = begin % count;
    for (int64_t row = begin; row < end; walker.next(), j = 0) {
      const char* source = from + walker.position() * static_cast<int64_t>(element);
      const int64_t last = std::min(count, j + end - row);
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
      auto row_at = [&](int64_t index) {
        int64_t position = 0;
        for (int k = 0; k < indices.count; ++k) position += indices.at(k, index) * strides[k];
        return source + position * static_cast<int64_t>(element);
      };
      auto each_row = [&](auto&& copy) {
        for (; j < last; ++j, target += row_bytes) copy(row_at(j));
      };
      if (fetches) {
        each_row([&](const void* own) {
          fetch_row(row_at(std::min(j + rows_ahead, last - 1)), row_bytes);
          streams ? stream(target, &own, width) : copy_row(target, own, row_bytes);
        });
      } else if (in_row) {
        each_row([&](const void* own) { copy_row(target, own, row_bytes); });
      } else {
        each_row([&](const void* own) { gather_strided(target, own, element, inner, 0, width); });
      }
    }
    if (streams) finish_streaming();
  });
}

// Each thread goes through all indices and takes those of its own rows, so that of equal indices
// the last one stays.
void put_rows_kernel(const NaiveCall& call) {
  begin_as_first(call);
  const NaiveArray &values = call.inputs[1], &y = call.output;
  if (values.size() == 0) return;
  const int first = static_cast<int>(call.attributes[0]), rank = values.layout.shape.rank();
  const Indices indices(&call.inputs[2], call.inputs.size() - 2, y.layout.shape.data() + first);
  const int64_t rows = product(y.layout.shape, first, first + indices.count);
  const int64_t count = values.layout.shape[first], stride = values.layout.strides[first];
  const Layout outer = dimensions(values.layout, 0, first);
  const Layout inner = collapse(dimensions(values.layout, first + 1, rank));
  const int64_t width = element_count(inner.shape);
  const auto element = static_cast<int64_t>(size_of(y.dtype));
  const bool in_row = is_contiguous(inner);
  char* const to = first_element(y);
  const char* const from = first_element(values);
  // If rows are shorter than a line, a thread takes all: testing which are its own takes longer.
  const int64_t unit = width * element < cache_line ? rows : 1;
  const int64_t grain = std::max<int64_t>(elements_grain * rows / (count * width * unit), 1);
  parallel_shares(element_count(outer.shape) * rows / unit, grain, [&](int64_t begin, int64_t end) {
    begin *= unit;
    end *= unit;
    Walker walker(outer, begin / rows);
    for (int64_t at = begin; at < end; walker.next()) {
      const int64_t begin_row = at % rows, end_row = std::min(rows, begin_row + end - at);
      char* const target = to + (at - begin_row) * width * element;
      const char* source = from + walker.position() * element;
      at += end_row - begin_row;
      for (int64_t j = 0; j < count; ++j, source += stride * element) {
        const int64_t row = indices.row(j);
        if (row < begin_row || row >= end_row) continue;
        char* const place = target + row * width * element;
        if (in_row) {
          copy_bytes(place, source, static_cast<size_t>(width * element));
        } else {
          gather_strided(place, source, static_cast<size_t>(element), inner, 0, width);
        }
      }
    }
  });
}

}  // namespace mt::cpu
