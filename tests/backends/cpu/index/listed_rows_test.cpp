// SPDX-License-Identifier: Apache-2.0
// Listed rows are added in the list's order, under every instruction set.
#include "backends/cpu/index/listed_rows.h"

#include <vector>

#include "backends/cpu/elementwise/instruction_sets.h"

namespace mt::cpu {
namespace {

// Sums whose last bits tell in which order they were made.
template <class T>
void check(Compute type, int64_t width) {
  constexpr uint32_t rows = 7, values = 90, count = 200;
  const int64_t step = width + 3;
  std::vector<T> from(static_cast<size_t>(values * step));
  std::vector<T> sums(static_cast<size_t>(rows * width + 16), T(1)), expected = sums;
  for (size_t i = 0; i < from.size(); ++i) from[i] = T(3e6) / static_cast<T>(i + 1);
  std::vector<ListedRow> list;
  for (uint32_t e = 0; e < count; ++e) list.push_back({e * e % rows, e * 37 % values});
  for (const ListedRow& entry : list) {
    for (int64_t c = 0; c < width; ++c) {
      T& sum = expected[static_cast<size_t>(entry.row * width + c)];
      sum += from[static_cast<size_t>(entry.from * step + c)];
    }
  }
  listed_addition(type)(sums.data(), from.data(), step, width, list.data(), count);
  EXPECT_EQ(sums, expected) << "rows of " << width;
}

TEST(ListedRows, AreAddedInOrder) {
  for_each_instruction_set([] {
    for (int64_t width : {1, 5, 16, 31, 64, 100, 200}) {
      check<float>(Compute::f32, width);
      check<double>(Compute::f64, width);
      check<int32_t>(Compute::i32, width);
      check<int64_t>(Compute::i64, width);
    }
  });
}

}  // namespace
}  // namespace mt::cpu
