// SPDX-License-Identifier: Apache-2.0
// Numbers sorted in place, and long rows of them with all threads: halves are sorted apart and
// merged. Equal numbers are the same, so every way of sorting gives the same result.
#pragma once

#include <algorithm>

#include "backends/cpu/parallel.h"
#include "hwy/base.h"

namespace mt::cpu {

void sort_numbers(uint8_t* numbers, int64_t count);
void sort_numbers(uint16_t* numbers, int64_t count);
void sort_numbers(uint32_t* numbers, int64_t count);
void sort_numbers(uint64_t* numbers, int64_t count);
void sort_numbers(hwy::uint128_t* numbers, int64_t count);

constexpr int64_t piece = 64 << 10;  // the shortest piece of a row that is sorted by itself

// Elements [begin, end) of the merged a and b: first how many of a come before `begin`.
template <class T>
void merge_part(T* out, const T* a, int64_t a_count, const T* b, int64_t b_count, int64_t begin,
                int64_t end) {
  int64_t low = std::max<int64_t>(0, begin - b_count), high = std::min(begin, a_count);
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (a[middle] < b[begin - middle - 1]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int64_t i = low, j = begin - low, at = begin;
  for (; at < end && i < a_count && j < b_count; ++at) {  // without a branch, which none foresees
    bool first = a[i] < b[j];
    const T* next = first ? a + i : b + j;
    out[at] = *next;
    i += first;
    j += !first;
  }
  if (at == end) return;
  const T* rest = i < a_count ? a + i : b + j;
  std::copy(rest, rest + (end - at), out + at);
}

// Sorts one long row; the result is in `numbers` or in `spare`, which is returned.
template <class T>
T* sort_in_pieces(T* numbers, T* spare, int64_t count) {
  int64_t pieces = 1;
  while (pieces < thread_count() && count / (2 * pieces) >= piece) pieces *= 2;
  auto start = [&](int64_t p) { return count / pieces * p + std::min(p, count % pieces); };
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) sort_numbers(numbers + start(p), start(p + 1) - start(p));
  });
  T *from = numbers, *to = spare;
  for (int64_t width = 1; width < pieces; width *= 2) {
    parallel_for(count, piece, [&](int64_t begin, int64_t end) {
      for (int64_t p = 0; p < pieces; p += 2 * width) {
        int64_t first = start(p), middle = start(p + width), last = start(p + 2 * width);
        int64_t low = std::max(begin, first), high = std::min(end, last);
        if (low >= high) continue;
        merge_part(to + first, from + first, middle - first, from + middle, last - middle,
                   low - first, high - first);
      }
    });
    std::swap(from, to);
  }
  return from;
}

}  // namespace mt::cpu
