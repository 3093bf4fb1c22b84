// SPDX-License-Identifier: Apache-2.0
// The transpose of a sliding window: each element of the result sums the windows it was in, in the
// windows' order, so that sums do not depend on how elements are divided among threads.
#include <algorithm>
#include <type_traits>

#include "backends/cpu/contract/number.h"
#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t chunk = 1024;  // elements whose sums are kept at a time
constexpr int64_t few_elements = 16;

// The type in which elements stored as T are summed.
template <class T>
using SumOf = std::conditional_t<sizeof(T) == 2, float, T>;

template <class T>
void add_strided(SumOf<T>* sums, int64_t step, const T* x, int64_t stride, int64_t count) {
  using Sum = SumOf<T>;
  if constexpr (std::is_same_v<T, Sum>) {
    static const Operator add_vectors = vector_addition<Sum>();
    if (step == 1 && stride == 1) {
      const Input in[2] = {{sums}, {x}};
      return add_vectors(sums, in, 1, count);
    }
  }
  for (int64_t c = 0; c < count; ++c) sums[c * step] += number<Sum>(x[c * stride]);
}

// y is [outer..., n, inner...] and x [outer..., windows, inner..., size].
template <class T>
struct Folding {
  Layout from;  // x without the places in a window
  int axis;
  int64_t step, dilation, size, windows, length, width;
  int64_t by_window, by_place, along;  // strides of x; the last of the inner dimension, if any
  const T* x;
  T* y;

  explicit Folding(const NaiveCall& call)
      : from(dimensions(call.inputs[0].layout, 0, call.output.layout.shape.rank())),
        axis(static_cast<int>(call.attributes[0])),
        step(call.attributes[1]),
        dilation(call.attributes[2]),
        size(call.inputs[0].layout.shape.back()),
        windows(from.shape[axis]),
        length(call.output.layout.shape[axis]),
        width(call.output.layout.shape.back()),
        by_window(from.strides[axis]),
        by_place(call.inputs[0].layout.strides.back()),
        along(from.strides.back()),
        x(reinterpret_cast<const T*>(first_element(call.inputs[0]))),
        y(reinterpret_cast<T*>(first_element(call.output))) {}

  static void store(const SumOf<T>* sums, int64_t count, T* to) {
    for (int64_t i = 0; i < count; ++i) to[i] = number<T>(sums[i]);
  }
};

// Computes the sums for stretches of y's last dimension.
template <class T>
void fold_rows(const Folding<T>& f, int64_t count_of_y) {
  // Rows of y, in x's terms; the axis itself is worked out from the row's index.
  Layout rows = dimensions(f.from, 0, f.from.shape.rank() - 1);
  rows.shape[f.axis] = f.length;
  rows.strides[f.axis] = 0;
  parallel_for(count_of_y / f.width, grain_of(f.width * 4), [&](int64_t begin, int64_t end) {
    SumOf<T> sums[chunk];
    Walker walker(rows, begin);
    for (int64_t row = begin; row < end; ++row, walker.next()) {
      const T* source = f.x + walker.position();
      for (int64_t done = 0; done < f.width; done += chunk) {
        int64_t count = std::min(chunk, f.width - done);
        std::fill(sums, sums + count, 0);
        for (int64_t s = f.size - 1; s >= 0; --s) {  // later places are of earlier windows
          int64_t start = walker.index(f.axis) - s * f.dilation, w = start / f.step;
          if (start < 0 || start % f.step != 0 || w >= f.windows) continue;
          const T* first = source + w * f.by_window + s * f.by_place + done * f.along;
          add_strided(sums, 1, first, f.along, count);
        }
        f.store(sums, count, f.y + row * f.width + done);
      }
    }
  });
}

// Computes the sums for stretches of the axis, with the few elements of the dimension that follows
// it, if one does.
template <class T>
void fold_stretches(const Folding<T>& f, int64_t count_of_y) {
  const int64_t unit = f.axis == f.from.shape.rank() - 1 ? 1 : f.width, row_size = f.length * unit;
  const int64_t most = chunk / unit;
  const Layout rows = dimensions(f.from, 0, f.axis);
  parallel_for(count_of_y / row_size, grain_of(row_size * 4), [&](int64_t begin, int64_t end) {
    SumOf<T> sums[chunk];
    Walker walker(rows, begin);
    for (int64_t row = begin; row < end; ++row, walker.next()) {
      const T* source = f.x + walker.position();
      for (int64_t done = 0; done < f.length; done += most) {
        int64_t count = std::min(most, f.length - done);
        std::fill(sums, sums + count * unit, 0);
        for (int64_t s = f.size - 1; s >= 0; --s) {  // later places are of earlier windows
          // Windows w with done <= w * step + s * dilation < done + count.
          int64_t low = done - s * f.dilation, high = low + count;
          int64_t first = low <= 0 ? 0 : divide_up(low, f.step);
          int64_t stop = high <= 0 ? 0 : std::min(f.windows, divide_up(high, f.step));
          if (first >= stop) continue;
          const T* at = source + first * f.by_window + s * f.by_place;
          SumOf<T>* to = sums + (first * f.step - low) * unit;
          for (int64_t c = 0; c < unit; ++c) {
            add_strided(to + c, f.step * unit, at + c * f.along, f.by_window, stop - first);
          }
        }
        f.store(sums, count * unit, f.y + row * row_size + done * unit);
      }
    }
  });
}

template <class T>
void fold(const NaiveCall& call) {
  if (call.output.size() == 0) return;
  const Folding<T> f(call);
  const int last = f.from.shape.rank() - 1;
  const bool few = f.axis == last - 1 && f.width <= few_elements;
  (f.axis == last || few ? fold_stretches<T> : fold_rows<T>)(f, call.output.size());
}

}  // namespace

void fold_kernel(const NaiveCall& call) {
  switch (call.output.dtype) {
    case Dtype::float16: return fold<StoredFloat16>(call);
    case Dtype::bfloat16: return fold<StoredBfloat16>(call);
    case Dtype::float32: return fold<float>(call);
    default: return fold<double>(call);
  }
}

}  // namespace mt::cpu
