// SPDX-License-Identifier: Apache-2.0
// Running sums, in the panels and chains of ops/order.h.
#include <algorithm>

#include "backends/cpu/cache.h"
#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

constexpr int64_t panel = running_panel, chain = running_chain;
constexpr int64_t together = 8;    // chains
constexpr int64_t stretch = 4096;  // adjacent lines that are summed together
constexpr int64_t few = 32;        // lines; so few are not worth a call for each row

template <class T>
void add_rows(T* to, const T* a, const T* b, int64_t width) {
  static const Operator add_vectors = vector_addition<T>();
  const Input in[2] = {{a}, {b}};
  add_vectors(to, in, 1, width);
}

// Sums within chains of `count` elements that begin `stride` apart, several at once because they do
// not wait for each other. Without `store`, only their totals.
template <bool store, class T>
void sum_chains(T* to, const T* from, int64_t stride, int64_t count, T* totals) {
  T sums[together] = {};
  for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 8
    for (int64_t c = 0; c < together; ++c) {
      sums[c] += from[c * stride + i];
      if (store) to[c * stride + i] = sums[c];
    }
  }
  std::copy(sums, sums + together, totals);
}

// Adds what precedes a chain in its panel, and then what precedes the panel.
template <class T>
void finish(T* sums, int64_t count, T in_panel, T before) {
  constexpr int64_t block = 8;  // which compilers vectorize
  for (; count >= block; count -= block, sums += block) {
    for (int64_t i = 0; i < block; ++i) sums[i] = before + (in_panel + sums[i]);
  }
  for (int64_t i = 0; i < count; ++i) sums[i] = before + (in_panel + sums[i]);
}

// Sums up to a panel of a line, after elements that sum to `before`. Returns the sum with these.
template <bool store, class T>
T sum_panel(T* to, const T* from, int64_t count, T before) {
  T sum = 0, totals[together];
  int64_t i = 0;
  for (; i + together * chain <= count; i += together * chain) {
    sum_chains<store>(to + i, from + i, chain, chain, totals);
    for (int64_t c = 0; c < together; ++c) {
      if (store) finish(to + i + c * chain, chain, sum, before);
      sum += totals[c];
    }
  }
  for (; i < count; i += chain) {
    int64_t stop = std::min(i + chain, count);
    T total = 0;
    for (int64_t j = i; j < stop; ++j) {
      total += from[j];
      if (store) to[j] = total;
    }
    if (store) finish(to + i, stop - i, sum, before);
    sum += total;
  }
  return before + sum;
}

template <class T>
void sum_line(T* to, const T* from, int64_t length) {
  T sum = 0;
  for (int64_t i = 0; i < length; i += panel) {
    sum = sum_panel<true>(to + i, from + i, std::min(panel, length - i), sum);
  }
}

// The sums of a panel, written past the caches if `streams`.
template <class T>
void write_panel(T* to, const T* from, int64_t count, T before, bool streams) {
  if (!streams) {
    sum_panel<true>(to, from, count, before);
    return;
  }
  alignas(64) T sums[panel];
  sum_panel<true>(sums, from, count, before);
  const void* in[1] = {sums};
  streaming_kernel(sizeof(T))(to, in, count);
}

// One line on all threads: as many panels at a time as caches keep from computing their totals to
// computing their sums.
template <class T>
void share_line(T* to, const T* from, int64_t length) {
  constexpr int64_t panels = 256;
  const bool streams = length * static_cast<int64_t>(sizeof(T)) >= last_cache;
  T before[panels + 1] = {};
  for (int64_t first = 0; first < length; first += panels * panel) {
    int64_t count = std::min(panels, divide_up(length - first, panel));
    auto each_panel = [&](auto&& body) {
      parallel_for(count, grain_of(panel), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          int64_t at = first + p * panel;
          body(p, at, std::min(panel, length - at));
        }
        if (streams) finish_streaming();
      });
    };
    each_panel([&](int64_t p, int64_t at, int64_t size) {
      before[p + 1] = sum_panel<false, T>(nullptr, from + at, size, 0);
    });
    for (int64_t p = 0; p < count; ++p) before[p + 1] = before[p] + before[p + 1];
    each_panel([&](int64_t p, int64_t at, int64_t size) {
      write_panel(to + at, from + at, size, before[p], streams);
    });
    before[0] = before[count];
  }
}

// Several lines of up to a few chains, each line's chain beside the others'.
template <class T>
void sum_abreast(T* to, const T* from, int64_t length) {
  T before[together] = {}, totals[together];
  for (int64_t i = 0; i < length; i += chain) {
    const int64_t count = std::min(chain, length - i);
    sum_chains<true>(to + i, from + i, length, count, totals);
    for (int64_t c = 0; c < together; ++c) {
      if (i > 0) finish(to + c * length + i, count, before[c], T(0));
      before[c] += totals[c];
    }
  }
}

// x and y are [lines, length].
template <class T>
void sum_lines(T* to, const T* from, int64_t lines, int64_t length) {
  if (length > 4 * panel && lines < 2 * thread_count()) {
    for (int64_t line = 0; line < lines; ++line) {
      share_line(to + line * length, from + line * length, length);
    }
    return;
  }
  parallel_for(lines, grain_of(length), [&](int64_t line, int64_t end) {
    for (; length < together * chain && line + together <= end; line += together) {
      sum_abreast(to + line * length, from + line * length, length);
    }
    for (; line < end; ++line) sum_line(to + line * length, from + line * length, length);
  });
}

// Sums W columns of rows that have `columns`.
template <int W, class T>
void sum_columns(T* to, const T* from, int64_t rows, int64_t columns) {
  T sums[W];
  std::copy(from, from + W, sums);
  std::copy(sums, sums + W, to);
  for (int64_t at = columns; at < rows * columns; at += columns) {
    for (int c = 0; c < W; ++c) sums[c] += from[at + c];
    std::copy(sums, sums + W, to + at);
  }
}
template <class T>
void sum_rows(T* to, const T* from, int64_t rows, int64_t columns, int64_t width) {
  if (columns > few) {
    std::copy(from, from + width, to);
    for (int64_t i = 1; i < rows; ++i, to += columns) {
      from += columns;
      add_rows(to + columns, to, from, width);
    }
    return;
  }
  int64_t c = 0;
  for (; c + 8 <= columns; c += 8) sum_columns<8>(to + c, from + c, rows, columns);
  if (columns & 4) sum_columns<4>(to + c, from + c, rows, columns), c += 4;
  if (columns & 2) sum_columns<2>(to + c, from + c, rows, columns), c += 2;
  if (columns & 1) sum_columns<1>(to + c, from + c, rows, columns);
}
// Adds what precedes them to rows of `columns` elements, several at once if they are short.
template <class T>
void add_to_rows(T* to, const T* before, int64_t rows, int64_t columns) {
  constexpr int64_t most = 16 * few;
  T repeated[most];
  const int64_t some = std::min(rows, most / columns);
  if (some > 1) {
    for (int64_t i = 0; i < some; ++i) std::copy(before, before + columns, repeated + i * columns);
    for (; rows >= some; rows -= some, to += some * columns) {
      add_rows(to, repeated, to, some * columns);
    }
  }
  for (; rows > 0; --rows, to += columns) add_rows(to, before, to, columns);
}

// x and y are [outer, length, inner].
template <class T>
void cumulative_sum(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  int axis = static_cast<int>(call.attributes[0]);
  const Shape& shape = y.layout.shape;
  int64_t length = shape[axis], inner = product(shape, axis + 1, shape.rank());
  int64_t outer = product(shape, 0, axis), panels = divide_up(length, panel);
  int64_t stretches = divide_up(inner, stretch);
  const T* from = reinterpret_cast<const T*>(first_element(x));
  T* to = reinterpret_cast<T*>(first_element(y));
  if (inner == 1) return sum_lines(to, from, outer, length);
  int64_t work = std::min(length, panel) * std::min(inner, stretch);
  parallel_for(outer * panels * stretches, grain_of(work), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t column = task % stretches * stretch, p = task / stretches % panels;
      int64_t width = std::min(stretch, inner - column), o = task / stretches / panels;
      int64_t first = (o * length + p * panel) * inner + column;
      int64_t count = std::min(panel, length - p * panel);
      sum_rows(to + first, from + first, count, inner, width);
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
      T* const first = to + (o * length + p * panel) * inner;
      add_to_rows(first, last_row(o, p - 1), (last_row(o, p) - first) / inner, inner);
    }
  });
}

}  // namespace

void cumulative_sum_kernel(const NaiveCall& call) {
  if (call.output.size() == 0) return;
  if (!is_contiguous(call.inputs[0].layout)) return naive_value(call);
  switch (call.output.dtype) {
    case Dtype::float32: return cumulative_sum<float>(call);
    case Dtype::float64: return cumulative_sum<double>(call);
    default: return cumulative_sum<uint64_t>(call);
  }
}

}  // namespace mt::cpu
