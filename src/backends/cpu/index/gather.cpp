// SPDX-License-Identifier: Apache-2.0
// Rows picked, and rows added up. Picking is parallel over the rows of the result. Adding is
// parallel over the rows that are added to: each thread goes through all indices and takes those
// that fall to it, so that every element adds its terms in the order of the indices.
#include <algorithm>
#include <cstring>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "ops/indexing.h"

namespace mt::cpu {
namespace {

// The index tensors of one call.
struct Indices {
  int count;
  const int64_t* data[max_rank];
  int64_t stride[max_rank], size[max_rank];

  Indices(const NaiveArray* arrays, size_t arrays_count, const int64_t* sizes)
      : count(static_cast<int>(arrays_count)) {
    for (int k = 0; k < count; ++k) {
      data[k] = reinterpret_cast<const int64_t*>(first_element(arrays[k]));
      stride[k] = arrays[k].layout.strides[0];
      size[k] = sizes[k];
    }
  }
  int64_t at(int k, int64_t j) const { return wrapped_index(data[k][j * stride[k]], size[k]); }
  int64_t row(int64_t j) const {
    int64_t row = at(0, j);
    for (int k = 1; k < count; ++k) row = row * size[k] + at(k, j);
    return row;
  }
};

template <class T>
void gather_elements(T* out, const T* x, const Indices& indices, const int64_t* strides,
                     int64_t begin, int64_t end) {
  if (indices.count == 1) {
    for (int64_t j = begin; j < end; ++j) *out++ = x[indices.at(0, j) * strides[0]];
    return;
  }
  for (int64_t j = begin; j < end; ++j) {
    int64_t position = 0;
    for (int k = 0; k < indices.count; ++k) position += indices.at(k, j) * strides[k];
    *out++ = x[position];
  }
}

// One row of values onto a row of sums; `strides` of the values' dimensions.
template <class T>
void add_row(T* sum, const T* values, const Layout& inner, int64_t count) {
  static const Operator add_vectors = vector_addition<T>();
  int last = inner.shape.rank() - 1;
  int64_t width = last < 0 ? 1 : inner.shape[last], stride = last < 0 ? 0 : inner.strides[last];
  auto add = [&](const T* from) {
    if (stride == 1 && add_vectors) {
      const Input in[2] = {{sum}, {from}};
      add_vectors(sum, in, 1, width);
    } else {
      for (int64_t c = 0; c < width; ++c) sum[c] = static_cast<T>(sum[c] + from[c * stride]);
    }
    sum += width;
  };
  if (last <= 0) return add(values);
  Layout rows = dimensions(inner, 0, last);
  Walker walker(rows, 0);
  for (int64_t done = 0; done < count; done += width, walker.next()) {
    add(values + walker.position());
  }
}

// Rows are added to in no order that the processor could foresee, so they are asked for this early.
constexpr int64_t ahead = 8;

template <class T>
void fetch_row(const T* row, int64_t width) {
  constexpr int64_t line = 64 / sizeof(T), most = 8;  // lines; longer rows follow by themselves
  for (int64_t c = 0; c < std::min(width, most * line); c += line) __builtin_prefetch(row + c);
}

template <class T>
void scatter(const NaiveCall& call) {
  const NaiveArray &values = call.inputs[0], &y = call.output;
  int first = static_cast<int>(call.attributes[0]), rank = values.layout.shape.rank();
  Indices indices(&call.inputs[1], call.inputs.size() - 1, call.attributes.data() + 1);
  int64_t rows = 1;
  for (int k = 0; k < indices.count; ++k) rows *= indices.size[k];
  Layout outer = dimensions(values.layout, 0, first);
  Layout inner = collapse(dimensions(values.layout, first + 1, rank));
  int64_t width = element_count(inner.shape), count = values.layout.shape[first];
  int64_t step = values.layout.strides[first];
  const T* from = reinterpret_cast<const T*>(first_element(values));
  T* to = reinterpret_cast<T*>(first_element(y));
  if (y.size() == 0) return;
  int64_t work = width + values.size() / (element_count(outer.shape) * rows);
  parallel_for(element_count(outer.shape) * rows, grain_of(work), [&](int64_t begin, int64_t end) {
    std::memset(to + begin * width, 0, static_cast<size_t>((end - begin) * width) * sizeof(T));
    Walker walker(outer, begin / rows);
    auto sum_of = [&](int64_t row) { return to + row * width; };
    for (int64_t base = begin / rows * rows; base < end; base += rows, walker.next()) {
      const T* source = from + walker.position();
      auto mine = [&](int64_t row) { return row >= begin && row < end; };
      for (int64_t j = 0; j < count; ++j) {
        if (int64_t next = j + ahead; next < count) {
          int64_t row = base + indices.row(next);
          if (mine(row)) {
            fetch_row(sum_of(row), width);
            fetch_row(source + next * step, width);
          }
        }
        int64_t row = base + indices.row(j);
        if (mine(row)) add_row(sum_of(row), source + j * step, inner, width);
      }
    }
  });
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

void scatter_kernel(const NaiveCall& call) {
  switch (call.output.dtype) {
    case Dtype::float32:
      return scatter<float>(call);
    case Dtype::float64:
      return scatter<double>(call);
    case Dtype::boolean:
    case Dtype::float16:
    case Dtype::bfloat16:
      return naive_value(call);
    default:
      with_bits(size_of(call.output.dtype), [&](auto zero) { scatter<decltype(zero)>(call); });
  }
}

void last_writer_kernel(const NaiveCall& call) {
  const NaiveArray& y = call.output;
  Indices indices(call.inputs.data(), call.inputs.size(), y.layout.shape.data());
  int64_t* to = reinterpret_cast<int64_t*>(first_element(y));
  int64_t count = call.inputs[0].size(), rows = y.size();
  if (rows == 0) return;
  parallel_for(rows, grain_of(1 + count / rows), [&](int64_t begin, int64_t end) {
    std::fill(to + begin, to + end, int64_t{-1});
    for (int64_t j = 0; j < count; ++j) {
      int64_t row = indices.row(j);
      if (row >= begin && row < end) to[row] = j;
    }
  });
}

}  // namespace mt::cpu
