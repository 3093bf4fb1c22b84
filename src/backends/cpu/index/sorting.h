// SPDX-License-Identifier: Apache-2.0
// Numbers sorted in place, and long rows of them with all threads: split at pivots into pieces that
// are sorted apart. Equal numbers are the same, so every way of sorting gives the same result.
#pragma once

#include <algorithm>
#include <utility>

#include "backends/cpu/parallel/parallel.h"
#include "hwy/base.h"

namespace mt::cpu {

void sort_numbers(uint8_t* numbers, int64_t count);
void sort_numbers(uint16_t* numbers, int64_t count);
void sort_numbers(uint32_t* numbers, int64_t count);
void sort_numbers(uint64_t* numbers, int64_t count);
void sort_numbers(hwy::uint128_t* numbers, int64_t count);

constexpr int64_t piece = 64 << 10;  // the shortest piece of a row that is sorted by itself

constexpr int64_t block = 64;  // numbers that are compared together

// Which of a block are below the pivot, bit by bit; and the lesser of each of two blocks' numbers.
uint64_t which_below(const uint32_t* from, uint32_t pivot);
uint64_t which_below(const uint64_t* from, uint64_t pivot);
void keep_lesser(uint32_t* least, const uint32_t* from);
void keep_lesser(uint64_t* least, const uint64_t* from);

// How many are below the pivot; and those, so many, apart from the others, each kind in its order.
int64_t count_below(const uint16_t* from, int64_t count, uint16_t pivot);
int64_t count_below(const uint32_t* from, int64_t count, uint32_t pivot);
int64_t count_below(const uint64_t* from, int64_t count, uint64_t pivot);
int64_t count_below(const hwy::uint128_t* from, int64_t count, hwy::uint128_t pivot);
void split(const uint16_t* from, int64_t count, uint16_t pivot, uint16_t* low, int64_t below,
           uint16_t* high);
void split(const uint32_t* from, int64_t count, uint32_t pivot, uint32_t* low, int64_t below,
           uint32_t* high);
void split(const uint64_t* from, int64_t count, uint64_t pivot, uint64_t* low, int64_t below,
           uint64_t* high);
void split(const hwy::uint128_t* from, int64_t count, hwy::uint128_t pivot, hwy::uint128_t* low,
           int64_t below, hwy::uint128_t* high);

constexpr int most_pieces = 64;
constexpr int most_parts = 2 * most_pieces;  // that all pieces together are split in

// The middle one of a few; of none, anything.
template <class T>
T pivot_of(const T* numbers, int64_t count) {
  constexpr int64_t some = 127;
  if (count == 0) return T{};
  T taken[some];
  for (int64_t i = 0; i < some; ++i) taken[i] = numbers[count * i / some];
  std::nth_element(taken, taken + some / 2, taken + some);
  return taken[some / 2];
}

// Splits each of `pieces`, which lie between `ends`, in two, from one array to another.
template <class T>
void split_pieces(const T* from, T* to, int64_t* ends, int pieces) {
  const int parts = most_parts / pieces;  // of a piece
  T pivots[most_pieces];
  int64_t below[most_parts], low[most_parts], high[most_parts], middle[most_pieces];
  auto begin_of = [&](int part) {
    const int64_t begin = ends[part / parts], count = ends[part / parts + 1] - begin;
    return begin + count * (part % parts) / parts;
  };
  auto each_part = [&](auto&& body) {
    parallel_items(pieces * parts, thread_count(), [&](int64_t item, int) {
      const int part = static_cast<int>(item);
      const int64_t begin = begin_of(part);
      const bool last = part % parts == parts - 1;
      body(part, begin, (last ? ends[part / parts + 1] : begin_of(part + 1)) - begin);
    });
  };
  for (int p = 0; p < pieces; ++p) pivots[p] = pivot_of(from + ends[p], ends[p + 1] - ends[p]);
  each_part([&](int part, int64_t begin, int64_t count) {
    below[part] = count_below(from + begin, count, pivots[part / parts]);
  });
  for (int p = 0; p < pieces; ++p) {
    int64_t at = ends[p];
    for (int part = p * parts; part < (p + 1) * parts; ++part) {
      low[part] = at;
      at += below[part];
    }
    middle[p] = at;
    for (int part = p * parts; part < (p + 1) * parts; ++part) {
      high[part] = middle[p] + begin_of(part) - low[part];
    }
  }
  each_part([&](int part, int64_t begin, int64_t count) {
    split(from + begin, count, pivots[part / parts], to + low[part], below[part], to + high[part]);
  });
  for (int p = pieces; p > 0; --p) {
    ends[2 * p] = ends[p];
    ends[2 * p - 1] = middle[p - 1];
  }
}

// Sorts one long row, which ends in `numbers` or in `spare`; calls finish(sorted, begin, end) for
// each stretch of it.
template <class T, class Finish>
void sort_in_pieces(T* numbers, T* spare, int64_t count, Finish&& finish) {
  int64_t ends[most_pieces + 1] = {0, count};
  // Twice as many pieces as threads: a slow one leaves some to the others.
  const int threads = thread_count(), most = threads > 1 ? std::min(2 * threads, most_pieces) : 1;
  int pieces = 1;
  for (; pieces < most && count / (2 * pieces) >= piece; pieces *= 2) {
    split_pieces(numbers, spare, ends, pieces);
    std::swap(numbers, spare);
  }
  parallel_items(pieces, thread_count(), [&](int64_t p, int) {
    if (ends[p] == ends[p + 1]) return;
    sort_numbers(numbers + ends[p], ends[p + 1] - ends[p]);
    finish(numbers, ends[p], ends[p + 1]);
  });
}

}  // namespace mt::cpu
