// SPDX-License-Identifier: Apache-2.0
// Running sums. Each line is cut into panels of fixed length: sums within each panel, then the
// panels' totals one after another, then each total added to the panel after it.
#include <algorithm>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel.h"

namespace mt::cpu {
namespace {

constexpr int64_t panel = 4096;
constexpr int64_t stretch = 4096;  // neighbouring lines that are summed together

template <class T>
void add_rows(T* to, const T* a, const T* b, int64_t width) {
  static const Operator add_vectors = vector_addition<T>();
  const Input in[2] = {{a}, {b}};
  add_vectors(to, in, 1, width);
}

// x and y are [outer, length, inner].
template <class T>
void cumulative_sum(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  int axis = static_cast<int>(call.attributes[0]);
  const Shape& shape = y.layout.shape;
  int64_t length = shape[axis], inner = product(shape, axis + 1, shape.rank());
  int64_t outer = product(shape, 0, axis), panels = (length + panel - 1) / panel;
  int64_t stretches = (inner + stretch - 1) / stretch;
  const T* from = reinterpret_cast<const T*>(first_element(x));
  T* to = reinterpret_cast<T*>(first_element(y));

  int64_t work = std::min(length, panel) * std::min(inner, stretch);
  parallel_for(outer * panels * stretches, grain_of(work), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t column = task % stretches * stretch, p = task / stretches % panels;
      int64_t width = std::min(stretch, inner - column), o = task / stretches / panels;
      int64_t first = (o * length + p * panel) * inner + column;
      int64_t count = std::min(panel, length - p * panel);
      if (inner == 1) {
        T sum = to[first] = from[first];
        for (int64_t i = 1; i < count; ++i) to[first + i] = sum += from[first + i];
        continue;
      }
      std::copy(from + first, from + first + width, to + first);
      for (int64_t i = 1; i < count; ++i) {
        int64_t at = first + i * inner;
        add_rows(to + at, to + at - inner, from + at, width);
      }
    }
  });
  if (panels == 1) return;
  // The last row of each panel becomes the sum of everything up to it.
  auto last_row = [&](int64_t o, int64_t p) {
    return to + (o * length + std::min(length, (p + 1) * panel) - 1) * inner;
  };
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t p = 1; p < panels; ++p) {
      add_rows(last_row(o, p), last_row(o, p - 1), last_row(o, p), inner);
    }
  }
  parallel_for(outer * (panels - 1), grain_of(panel * inner), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t o = task / (panels - 1), p = task % (panels - 1) + 1;
      const T* before = last_row(o, p - 1);
      T* stop = last_row(o, p);
      for (T* row = to + (o * length + p * panel) * inner; row < stop; row += inner) {
        add_rows(row, before, row, inner);
      }
    }
  });
}

}  // namespace

void cumulative_sum_kernel(const NaiveCall& call) {
  if (call.output.size() == 0) return;
  if (!is_contiguous(call.inputs[0].layout)) return naive_value(call);
  switch (call.output.dtype) {
    case Dtype::float32:
      return cumulative_sum<float>(call);
    case Dtype::float64:
      return cumulative_sum<double>(call);
    default:
      return cumulative_sum<uint64_t>(call);
  }
}

}  // namespace mt::cpu
