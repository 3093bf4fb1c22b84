// SPDX-License-Identifier: Apache-2.0
// A single row over sliding windows, as in depthwise convolutions: c[column] = sum over k of
// a[k] * b[column, k], with few k. The windows' positions lie in lines. Registers hold vectors of
// one line, or of several short ones, over the whole of k; nothing between the lines is computed.
#if defined(MT_WINDOWS_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_LINES_INL_H
#undef MT_WINDOWS_LINES_INL_H
#else
#define MT_WINDOWS_LINES_INL_H
#endif

#include <algorithm>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

constexpr int64_t most_line_k = 64;
constexpr int line_vectors = 4;  // that run together

template <class T>
struct Lines {
  const T* a;  // [k]
  const T* b;
  const int64_t* ks;
  int64_t k;
};

// `columns` columns, at most V vectors and more than V - 1, of L lines, which begin at from[l] and
// c + l * c_line.
template <class T, int L, int V>
HWY_NOINLINE void lines_kernel(const Lines<T>& lines, const int64_t* from, int64_t columns, T* c,
                               int64_t c_line) {
  const Vectors<T> d;
  constexpr int lanes = lanes_of<T>;
  const auto mask = hn::FirstN(d, columns - (V - 1) * lanes);
  const bool whole = columns == V * lanes;
  hn::Vec<Vectors<T>> sum[L][V];
  const T* b[L];
  MT_UNROLL for (int l = 0; l < L; ++l) {
    b[l] = lines.b + from[l];
    MT_UNROLL for (int v = 0; v < V; ++v) sum[l][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < lines.k; ++k) {
    const auto x = hn::Set(d, lines.a[k]);
    const int64_t at = lines.ks[k];
    MT_UNROLL for (int l = 0; l < L; ++l) {
      const T* row = b[l] + at;
      MT_UNROLL for (int v = 0; v < V - 1; ++v) {
        sum[l][v] = fused(d, x, hn::LoadU(d, row + v * lanes), sum[l][v]);
      }
      const T* last = row + (V - 1) * lanes;
      const auto y = !loads_part_at_once && whole ? hn::LoadU(d, last) : load_part(d, mask, last);
      sum[l][V - 1] = fused(d, x, y, sum[l][V - 1]);
    }
  }
  MT_UNROLL for (int l = 0; l < L; ++l, c += c_line) {
    MT_UNROLL for (int v = 0; v < V - 1; ++v) hn::StoreU(sum[l][v], d, c + v * lanes);
    T* last = c + (V - 1) * lanes;
    whole ? hn::StoreU(sum[l][V - 1], d, last) : store_part(sum[l][V - 1], d, mask, last);
  }
}

// `count` lines of one length, which follow each other in c.
template <class T>
void run_equal_lines(const Lines<T>& lines, int64_t* from, int64_t count, int64_t length, T* c) {
  constexpr int64_t lanes = lanes_of<T>;
  for (int64_t column = 0; column < length;) {
    const int64_t columns = std::min(length - column, line_vectors * lanes);
    const int64_t vectors = (columns + lanes - 1) / lanes, together = line_vectors / vectors;
    for (int64_t l = 0; l < count;) {
      T* const to = c + l * length + column;
      const int64_t* const at = from + l;
      const bool all = count - l >= together;
      l += all ? together : 1;
      switch (vectors) {
        case 1:
          all ? lines_kernel<T, 4, 1>(lines, at, columns, to, length)
              : lines_kernel<T, 1, 1>(lines, at, columns, to, length);
          break;
        case 2:
          all ? lines_kernel<T, 2, 2>(lines, at, columns, to, length)
              : lines_kernel<T, 1, 2>(lines, at, columns, to, length);
          break;
        case 3: lines_kernel<T, 1, 3>(lines, at, columns, to, length); break;
        default: lines_kernel<T, 1, 4>(lines, at, columns, to, length);
      }
    }
    for (int64_t l = 0; l < count; ++l) from[l] += columns;
    column += columns;
  }
}

// Columns [first, first + count) of b.
template <class T>
void run_lines(const Lines<T>& lines, const Axis& columns, int64_t first, int64_t count, T* c) {
  int64_t from[line_vectors], found = 0, line = 0;
  const auto run = [&] {
    run_equal_lines(lines, from, found, line, c);
    c += found * line;
    found = 0;
  };
  columns.for_runs(first, count, [&](int64_t, int64_t offset, int64_t length) {
    if (found > 0 && (length != line || found == line_vectors)) run();
    line = length;
    from[found++] = offset;
  });
  run();
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
