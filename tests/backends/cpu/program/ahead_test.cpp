// SPDX-License-Identifier: Apache-2.0
// What is written past the caches has the bits of its parts, which are too small for that.
#include "backends/cpu/cache.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/elementwise/instruction_sets.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/random.h"

namespace mt::testing {
namespace {

using Results = std::vector<Tensor>;

Results computed(const Results& results) {
  evaluate(results.data(), results.size());
  return results;
}

// f's results have as many rows as x.
template <class F>
void check(const Tensor& x, F&& f) {
  const int64_t rows = x.shape()[0], part = rows / 5 + 1;
  const Results whole = computed(f(x));
  for (int64_t begin = 0; begin < rows; begin += part) {
    const int64_t count = std::min(part, rows - begin);
    const Results parts = computed(f(slice(x, 0, begin, count, 1)));
    for (size_t r = 0; r < whole.size(); ++r) {
      ASSERT_GE(whole[r]->bytes(), size_t{cpu::last_cache});
      const size_t row = whole[r]->bytes() / static_cast<size_t>(rows);
      const char* expected = static_cast<const char*>(parts[r]->data());
      const char* found = static_cast<const char*>(whole[r]->data());
      EXPECT_EQ(std::memcmp(found + static_cast<size_t>(begin) * row, expected,
                            static_cast<size_t>(count) * row),
                0)
          << "result " << r << " of " << to_string(x.shape()) << " from row " << begin << " on";
    }
  }
}

// Numbers of which so many columns fill more than the caches.
Tensor numbers(int64_t columns, Dtype dtype = Dtype::float32) {
  const int64_t row = columns * static_cast<int64_t>(size_of(dtype));
  Tensor x = uniform({cpu::last_cache / row + 3, columns}, -9, 9, Dtype::float32, cpu());
  if (dtype != Dtype::float32) x = cast(x, dtype);
  evaluate(x);
  return x;
}

class PastTheCaches : public ::testing::TestWithParam<int64_t> {};  // columns

TEST_P(PastTheCaches, ElementsGo) {
  cpu::for_each_instruction_set([] {
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int32, Dtype::int64}) {
      check(numbers(GetParam(), dtype), [](const Tensor& x) {
        Tensor y = x * x - x;
        return Results{y, y * x};
      });
    }
  });
}

TEST_P(PastTheCaches, ConversionsAndCopiesGo) {
  const std::pair<Dtype, Dtype> conversions[] = {{Dtype::float64, Dtype::int64},
                                                 {Dtype::float32, Dtype::float64},
                                                 {Dtype::bfloat16, Dtype::float16},
                                                 {Dtype::uint8, Dtype::boolean}};
  cpu::for_each_instruction_set([&] {
    for (auto [from, to] : conversions) {
      check(numbers(GetParam(), from), [to = to](const Tensor& x) {
        return Results{cast(x, to), copy(x), maximum(x, x * x)};
      });
    }
  });
}

TEST_P(PastTheCaches, WhatIsBroadcastToRowsGoes) {
  Tensor of_column = uniform({GetParam()}, -9, 9, Dtype::float32, cpu());
  evaluate(of_column);
  cpu::for_each_instruction_set([&] {
    check(numbers(GetParam()), [&](const Tensor& x) { return Results{x * of_column + x}; });
  });
}

TEST_P(PastTheCaches, WhatIsTurnedGoes) {
  Tensor turned = copy(transpose(numbers(GetParam())));
  evaluate(turned);
  cpu::for_each_instruction_set(
      [&] { check(transpose(turned), [](const Tensor& x) { return Results{x * 0.5 + 1.0}; }); });
}

TEST_P(PastTheCaches, RowsGo) {
  cpu::for_each_instruction_set([] {
    check(numbers(GetParam()), [](const Tensor& x) {
      Tensor y = exp(x - max(x, {1}, true));
      return Results{y / sum(y, {1}, true), y};
    });
  });
}

TEST_P(PastTheCaches, PickedRowsGo) {
  const Tensor table = uniform({1000, GetParam()}, -9, 9, Dtype::float32, cpu());
  const int64_t rows = cpu::last_cache / (GetParam() * 4) + 3;
  const Tensor picked = integers({rows}, -1000, 1000, Dtype::int64, cpu());
  computed({table, picked});
  cpu::for_each_instruction_set(
      [&] { check(picked, [&](const Tensor& x) { return Results{index_select(table, x, 0)}; }); });
}

INSTANTIATE_TEST_SUITE_P(Columns, PastTheCaches, ::testing::Values(1001, 1024));

// Up to an element they depend on what comes before it alone.
TEST(RunningSums, GoPastTheCaches) {
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int64}) {
    const int64_t count = cpu::last_cache / static_cast<int64_t>(size_of(dtype));
    Tensor x = cast(uniform({count + 5000}, -9, 9, Dtype::float32, cpu()), dtype);
    evaluate(x);
    const Results sums =
        computed({cumulative_sum(x, 0), cumulative_sum(slice(x, 0, 0, count - 1, 1), 0)});
    EXPECT_EQ(std::memcmp(sums[0]->data(), sums[1]->data(), sums[1]->bytes()), 0);
  }
}

}  // namespace
}  // namespace mt::testing
