// SPDX-License-Identifier: Apache-2.0
// What is reduced twice in the same way is reduced once, with the same bits.
#include <gtest/gtest.h>

#include "fusion/explain.h"
#include "fusion/support.h"

namespace mt::testing {
namespace {

// Of what `make` returns, of which nothing but that is held.
template <class F>
int reductions(F&& make) {
  const Tensor y = make();
  const std::string text = explain(y);
  int count = 0;
  for (const char* name : {" = sum(", " = max(", " = prod("}) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
      ++count;
  }
  return count;
}

TEST(ShareReductions, OneSumServesAMeanAndAVariance) {
  install_fusing_evaluator();
  const Tensor x = random_leaf({40, 300}, 1);
  auto standardized = [&] { return (x - mean(x, {1}, true)) / sqrt(var(x, {1}, 0, true)); };
  EXPECT_EQ(reductions(standardized), 2);  // of x, and of squares
  const Tensor middle = mean(x, {1}, true), spread = var(x, {1}, 0, true);
  evaluate(middle);
  evaluate(spread);
  EXPECT_EQ(value_of(standardized()), value_of((x - middle) / sqrt(spread)));
}

TEST(ShareReductions, WhatFollowsFromOneIsSharedToo) {
  install_fusing_evaluator();
  const Tensor x = random_leaf({6, 20, 30}, 1);
  auto twice = [&] { return sum(sum(x, {2}), {0}) * 2 + tanh(sum(sum(x, {2}), {0})); };
  EXPECT_EQ(reductions(twice), 2);
  const Tensor once = sum(sum(x, {2}), {0});
  evaluate(once);
  EXPECT_EQ(value_of(twice()), value_of(once * 2 + tanh(once)));
}

TEST(ShareReductions, OthersStayApart) {
  install_fusing_evaluator();
  const Tensor x = random_leaf({12, 12}, 1);
  EXPECT_EQ(reductions([&] { return sum(x, {0}) + sum(x, {1}); }), 2);
  EXPECT_EQ(reductions([&] { return sum(x, {1}) + max(x, {1}); }), 2);
  EXPECT_EQ(reductions([&] { return sum(x, {1}) + sum(transpose(x), {1}); }), 2);
  EXPECT_EQ(
      reductions([&] { return sum(slice(x, 0, 0, 5, 1), {1}) + sum(slice(x, 0, 1, 5, 1), {1}); }),
      2);
  EXPECT_EQ(reductions([&] { return sum(x + 1, {1}) + sum(x + 2, {1}); }), 2);
  EXPECT_EQ(reductions([&] { return sum(x, {1}) + sum(x, {1}); }), 1);
}

// Both are asked for, so both have memory of their own.
TEST(ShareReductions, WhatIsWantedTwiceIsThereTwice) {
  install_fusing_evaluator();
  const Tensor x = random_leaf({12, 12}, 1);
  const Tensor a = sum(x, {1}), b = sum(x, {1}), c = tanh(sum(x, {1}));
  const std::vector<Value> values = evaluated({a, b, c});
  EXPECT_EQ(values[0], values[1]);
  EXPECT_NE(a->data(), b->data());
  EXPECT_EQ(values[2], value_of(tanh(a)));
}

}  // namespace
}  // namespace mt::testing
