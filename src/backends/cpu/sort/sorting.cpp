// SPDX-License-Identifier: Apache-2.0
// Sorts numbers of few bits by counting, and those of 128 bits by Highway.
#include "backends/cpu/sort/sorting.h"

#include <cstdlib>

#include "hwy/contrib/sort/vqsort.h"
#include "hwy/targets.h"

namespace mt::cpu {
namespace {

template <class T>
void sort_by_highway(T* numbers, int64_t count) {
  hwy::Sorter()(numbers, static_cast<size_t>(count), hwy::SortAscending());
}

template <class T>
void sort_widened(T* numbers, int64_t count) {
  uint32_t wide[few_narrow];
  std::copy(numbers, numbers + count, wide);
  sort_numbers(wide, count);
  std::transform(wide, wide + count, numbers, [](uint32_t x) { return static_cast<T>(x); });
}

}  // namespace

// There are so few different ones that they are counted.
void sort_numbers(uint8_t* numbers, int64_t count) {
  if (count <= few_narrow) return sort_widened(numbers, count);
  int64_t counts[256] = {};
  for (int64_t i = 0; i < count; ++i) ++counts[numbers[i]];
  for (int number = 0; number < 256; ++number) {
    numbers = std::fill_n(numbers, counts[number], static_cast<uint8_t>(number));
  }
}
// A radix sort: by the lower bytes and then, keeping that order, by the upper ones.
void sort_numbers(uint16_t* numbers, int64_t count) {
  if (count <= few_narrow) return sort_widened(numbers, count);
  auto* const dealt = static_cast<uint16_t*>(std::malloc(2 * static_cast<size_t>(count)));
  if (!dealt) return sort_by_highway(numbers, count);
  ByteKinds lower, upper;
  for (int64_t i = 0; i < count; ++i) {
    ++lower[numbers[i]];
    ++upper[numbers[i] >> 8];
  }
  lower.begin();
  upper.begin();
  for (int64_t i = 0; i < count; ++i) dealt[lower[numbers[i]]++] = numbers[i];
  for (int64_t i = 0; i < count; ++i) numbers[upper[dealt[i] >> 8]++] = dealt[i];
  std::free(dealt);
}
// Without vectors, Highway has no sort of these, and ends the process.
void sort_numbers(hwy::uint128_t* numbers, int64_t count) {
  constexpr int64_t few = 32;  // too few to repay Highway's call
  const bool alone = count <= few || hwy::SupportedTargets() == HWY_SCALAR;
  alone ? std::sort(numbers, numbers + count) : sort_by_highway(numbers, count);
}

}  // namespace mt::cpu
