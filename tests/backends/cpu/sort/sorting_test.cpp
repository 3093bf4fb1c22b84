// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/sort/sorting.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "backends/cpu/elementwise/instruction_sets.h"

namespace mt::cpu {
namespace {

template <class T>
class Sorting : public testing::Test {
 protected:
  static T number(uint64_t low, uint64_t high) {
    if constexpr (sizeof(T) == 16) {
      return {low, high};
    } else {
      return static_cast<T>(low);
    }
  }
};
using Types = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t, hwy::uint128_t>;
TYPED_TEST_SUITE(Sorting, Types);

// Orders that lead pivots astray, or that have little to tell apart: number i of n.
using Order = std::function<uint64_t(uint64_t i, uint64_t n)>;
std::vector<Order> orders() {
  auto random = std::make_shared<std::mt19937_64>(7);
  return {
      [=](uint64_t, uint64_t) { return (*random)(); },
      [=](uint64_t, uint64_t) { return (*random)() % 3; },
      [=](uint64_t, uint64_t) { return (*random)() % 100 ? UINT64_MAX : (*random)(); },
      [=](uint64_t, uint64_t) { return (*random)() % 2 ? UINT64_MAX : 0; },
      [](uint64_t, uint64_t) { return uint64_t{0}; },
      [](uint64_t, uint64_t) { return UINT64_MAX; },
      [](uint64_t i, uint64_t) { return i; },
      [](uint64_t i, uint64_t n) { return n - i; },
      [](uint64_t i, uint64_t n) { return std::min(i, n - i); },  // organ pipes
      [](uint64_t i, uint64_t n) { return n - std::min(i, n - i); },
      [](uint64_t i, uint64_t) { return i % 17; },  // saws
      [](uint64_t i, uint64_t) { return UINT64_MAX - i % 300; },
      [](uint64_t i, uint64_t n) { return i + 1 == n ? 0 : i + 1; },  // one that is out of place
      [](uint64_t i, uint64_t n) {
        return n ? i * 8 / n * 8 % 7 : 0;
      },  // where pivots are looked for
      [](uint64_t i, uint64_t n) { return i < n / 2 ? 2 * i : 2 * (i - n / 2) + 1; },
  };
}

std::vector<int64_t> lengths() {
  std::vector<int64_t> result = {0, 1, 2, 3, 7, 8, 9};
  for (int64_t power = 16; power <= 1 << 14; power *= 2) {
    for (int64_t length : {power - 1, power, power + 1, power + power / 3})
      result.push_back(length);
  }
  return result;
}

// Each way to sort numbers of a type: as kernels do, and with pivots given up early.
template <class T>
std::vector<std::function<void(T*, int64_t)>> ways() {
  std::vector<std::function<void(T*, int64_t)>> result;
  result.push_back([](T* numbers, int64_t count) { sort_numbers(numbers, count); });
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    for (int splits : {0, 1, 2, 5}) {
      result.push_back([=](T* numbers, int64_t count) { sort_numbers(numbers, count, splits); });
    }
  }
  return result;
}

TYPED_TEST(Sorting, EveryOrderAndLength) {
  using T = TypeParam;
  constexpr int64_t beside = 64;  // numbers that are not to be touched
  const auto all = orders();
  const auto sorts = ways<T>();
  for (size_t order = 0; order < all.size(); ++order) {
    for (int64_t length : lengths()) {
      std::vector<T> numbers;
      for (int64_t i = -beside; i < length + beside; ++i) {
        const uint64_t own = all[order](static_cast<uint64_t>(i), static_cast<uint64_t>(length));
        numbers.push_back(this->number(own, static_cast<uint64_t>(i) % 5));
      }
      std::vector<T> expected = numbers;
      std::sort(expected.begin() + beside, expected.end() - beside);
      for_each_instruction_set([&] {
        for (size_t way = 0; way < sorts.size(); ++way) {
          std::vector<T> sorted = numbers;
          sorts[way](sorted.data() + beside, length);
          ASSERT_TRUE(sorted == expected) << order << ", " << length << " numbers, way " << way;
        }
      });
    }
  }
}

}  // namespace
}  // namespace mt::cpu
