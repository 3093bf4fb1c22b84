// SPDX-License-Identifier: Apache-2.0
// Numbers for which there is no sort of our own: of bytes, of 16 bits and of 128.
#include "backends/cpu/sort/sorting.h"

#include "hwy/contrib/sort/vqsort.h"
#include "hwy/targets.h"

namespace mt::cpu {
namespace {

constexpr int64_t few = 32;  // too few to repay the call, which asks the system for chance

template <class T>
void sort_in_vectors(T* numbers, int64_t count) {
  if (count <= few) return std::sort(numbers, numbers + count);
  hwy::Sorter()(numbers, static_cast<size_t>(count), hwy::SortAscending());
}

}  // namespace

// Of these there are so few that they are counted.
void sort_numbers(uint8_t* numbers, int64_t count) {
  int64_t counts[256] = {};
  for (int64_t i = 0; i < count; ++i) ++counts[numbers[i]];
  for (int number = 0; number < 256; ++number) {
    numbers = std::fill_n(numbers, counts[number], static_cast<uint8_t>(number));
  }
}
void sort_numbers(uint16_t* numbers, int64_t count) { sort_in_vectors(numbers, count); }
// Where there are no vectors, Highway has no sort of these, and ends the process.
void sort_numbers(hwy::uint128_t* numbers, int64_t count) {
  if (hwy::SupportedTargets() == HWY_SCALAR) return std::sort(numbers, numbers + count);
  sort_in_vectors(numbers, count);
}

}  // namespace mt::cpu
