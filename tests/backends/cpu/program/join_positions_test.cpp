// SPDX-License-Identifier: Apache-2.0
// Choices by an element's position in its row, in programs over rows, choose what they say.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

const std::vector<int64_t> sizes = {2, 3, 8, 15, 16, 17, 33, 64, 100, 1025};
constexpr int64_t rows = 6;

// The number sought in each row: two lie in none.
std::vector<double> sought(int64_t columns) {
  double last = static_cast<double>(columns - 1);
  return {-1, 0, last, last + 1, 1, last - 1};
}

Tensor positions(int64_t columns) {
  return reshape(iota({columns}, Dtype::int64, cpu()), {columns});
}

// chosen[r, c] = yes where c is the number of row r, else no.
template <class Yes, class No>
std::vector<double> expected(int64_t columns, Yes&& yes, No&& no) {
  std::vector<double> chosen;
  for (int64_t i = 0; i < rows * columns; ++i) {
    double number = sought(columns)[static_cast<size_t>(i / columns)];
    bool found = number == static_cast<double>(i % columns);
    chosen.push_back(found ? yes(static_cast<size_t>(i)) : no(static_cast<size_t>(i)));
  }
  return chosen;
}

TEST(JoinPositions, ChoosesOneElementOfEachRow) {
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (int64_t columns : sizes) {
      Tensor x = noise({rows, columns}, 1, dtype);
      std::vector<double> numbers = read(x), largest;
      for (int64_t r = 0; r < rows; ++r) {
        auto row = numbers.begin() + r * columns;
        largest.push_back(*std::max_element(row, row + columns));
      }
      Tensor target = make({rows}, sought(columns), Dtype::int64);
      Tensor is_it = equal(unsqueeze(target, -1), positions(columns));
      Tensor top = max(x, {-1}, true);
      auto top_of = [&](size_t i) { return largest[i / static_cast<size_t>(columns)]; };
      auto minus = [&](size_t i) { return -numbers[i]; };
      auto itself = [&](size_t i) { return numbers[i]; };
      auto zero = [](size_t) { return 0.0; };
      Tensor nothing = number(0, cpu());
      EXPECT_EQ(read(where(is_it, -x, nothing)), expected(columns, minus, zero)) << columns;
      EXPECT_EQ(read(where(is_it, top, x)), expected(columns, top_of, itself)) << columns;
      EXPECT_EQ(read(where(is_it, -x, top)), expected(columns, minus, top_of)) << columns;
      EXPECT_EQ(read(where(is_it, top, -x)), expected(columns, top_of, minus)) << columns;
    }
  }
}

// The comparison is read twice, so that it is made after all.
TEST(JoinPositions, KeepsAComparisonThatOthersRead) {
  for (int64_t columns : sizes) {
    Tensor x = noise({rows, columns}, 1);
    Tensor target = make({rows}, sought(columns), Dtype::int64);
    Tensor is_it = equal(positions(columns), unsqueeze(target, -1));
    Tensor count = sum(cast(is_it, Dtype::float64), {-1}, true);
    Tensor y = where(is_it, count, x) + max(x, {-1}, true) * 0.0;
    std::vector<double> numbers = read(x);
    EXPECT_EQ(read(y),
              expected(
                  columns, [](size_t) { return 1.0; }, [&](size_t i) { return numbers[i]; }))
        << columns;
  }
}

TEST(JoinPositions, EveryWayGivesTheSameBits) {
  check_devices(
      [](const std::vector<Tensor>& t) {
        Tensor target = reshape(iota({7}, Dtype::int64, t[0].device()), {7});
        return cross_entropy(t[0], target, 1, LossReduction::none);
      },
      {{7, 131}});
}

}  // namespace
}  // namespace mt::testing
