// SPDX-License-Identifier: Apache-2.0
// The recurrence of running products, as the naive value defines it: lines that lie side by side
// advance together.
#include <algorithm>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t together = 64;  // lines

// `lines` lines of `length` elements, `pitch` apart.
template <class T, class Wide>
void go_on(const T* a, const T* b, T* y, int64_t length, int64_t pitch, int64_t lines) {
  Wide values[together] = {};
  for (int64_t i = 0; i < length; ++i, a += pitch, b += pitch, y += pitch) {
    for (int64_t k = 0; k < lines; ++k) {
      const Wide factor = i > 0 ? static_cast<Wide>(a[k]) : Wide(0);
      values[k] = i > 0 ? factor * values[k] + static_cast<Wide>(b[k]) : static_cast<Wide>(b[k]);
      y[k] = static_cast<T>(values[k]);
    }
  }
}
// Contiguous lines, several side by side. In a single line each value waits for the previous one:
// the term to add, which is zero in a running product, is skipped where that changes no bit.
template <int64_t lines, class Wide, class T>
void go_on_in_order(const T* a, const T* b, T* y, int64_t length) {
  Wide values[lines];
  for (int64_t k = 0; k < lines; ++k) {
    values[k] = static_cast<Wide>(b[k * length]);
    y[k * length] = b[k * length];
  }
  for (int64_t i = 1; i < length; ++i) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < lines; ++k) {
      Wide value = static_cast<Wide>(a[k * length + i]) * values[k];
      const Wide more = static_cast<Wide>(b[k * length + i]);
      if (lines > 1 || __builtin_expect(more != 0 || value == 0, false)) value += more;
      values[k] = value;
      y[k * length + i] = static_cast<T>(value);
    }
  }
}

template <class T, class Wide>
void recur(const NaiveCall& call) {
  const int axis = static_cast<int>(call.attributes[0]);
  const Shape& shape = call.output.layout.shape;
  const int64_t length = shape[axis], inner = product(shape, axis + 1, shape.rank());
  const int64_t groups = divide_up(inner, together), outer = product(shape, 0, axis);
  const T* a = reinterpret_cast<const T*>(first_element(call.inputs[0]));
  const T* b = reinterpret_cast<const T*>(first_element(call.inputs[1]));
  T* y = reinterpret_cast<T*>(first_element(call.output));
  if (inner == 1) {
    constexpr int64_t abreast = 8;
    return parallel_for(outer, grain_of(length), [&](int64_t line, int64_t end) {
      for (; line + abreast <= end; line += abreast) {
        go_on_in_order<abreast, Wide>(a + line * length, b + line * length, y + line * length,
                                      length);
      }
      for (; line < end; ++line) {
        go_on_in_order<1, Wide>(a + line * length, b + line * length, y + line * length, length);
      }
    });
  }
  const int64_t work = length * std::min(inner, together);
  parallel_for(outer * groups, grain_of(work), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % groups * together;
      const int64_t at = task / groups * length * inner + column;
      const int64_t lines = std::min(together, inner - column);
      go_on<T, Wide>(a + at, b + at, y + at, length, inner, lines);
    }
  });
}

}  // namespace

void recurrence_kernel(const NaiveCall& call) {
  if (call.output.size() == 0) return;
  const bool in_order =
      is_contiguous(call.inputs[0].layout) && is_contiguous(call.inputs[1].layout);
  if (!in_order) return naive_value(call);
  switch (call.output.dtype) {
    case Dtype::float32: return recur<float, double>(call);
    case Dtype::float64: return recur<double, double>(call);
    case Dtype::int64:
    case Dtype::uint64: return recur<uint64_t, uint64_t>(call);
    default: return naive_value(call);
  }
}

}  // namespace mt::cpu
