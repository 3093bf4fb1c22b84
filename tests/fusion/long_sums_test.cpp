// SPDX-License-Identifier: Apache-2.0
// A long sum of squares or products, which one kernel reads from memory, has the bits of a sum over
// products that were stored before.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "backends/cpu/parallel/parallel.h"
#include "fusion/support.h"
#include "ops/order.h"

namespace mt::testing {
namespace {

Value sum_of(const Tensor& terms) { return value_of(sum(terms, {terms.rank() - 1})); }

class LongSums : public ::testing::TestWithParam<Dtype> {};

TEST_P(LongSums, HaveTheBitsOfStoredTerms) {
  install_fusing_evaluator();
  for (const Shape& shape : {Shape{16384}, Shape{40001}, Shape{3, 20000}}) {
    Tensor x = cast(random_leaf(shape, 1) * 9.0, GetParam());
    Tensor y = cast(random_leaf(shape, 2) * 9.0, GetParam());
    evaluated({x, y});
    for (auto terms : {+[](const Tensor&a, const Tensor&) { return mul(a, a); },
                       +[](const Tensor&a, const Tensor&) { return square(a); },
                       +[](const Tensor&a, const Tensor&b) { return mul(a, b); },
                       +[](const Tensor&a, const Tensor&b) { return sub(a, b); },
                       +[](const Tensor&a, const Tensor&b) { return (a + b) * b; },
                       +[](const Tensor&a, const Tensor&b) { return sub(a, b) * 0.5; },
                       +[](const Tensor&a, const Tensor&b) { return square(sub(a, b)); }}) {
      Tensor stored = terms(x, y);
      evaluate(stored);
      EXPECT_EQ(sum_of(terms(x, y)), sum_of(stored)) << to_string(shape);
    }
  }
}

// Terms that do not lie one after another go another way.
TEST_P(LongSums, ReadStridedOperands) {
  install_fusing_evaluator();
  Tensor x = cast(random_leaf({300, 200}, 1) * 9.0, GetParam());
  evaluate(x);
  Tensor turned = transpose(x), stored = mul(turned, turned);
  evaluate(stored);
  EXPECT_EQ(value_of(sum(mul(turned, turned))), value_of(sum(stored)));
}

// Each channel's sum reads a stretch of every image: of channels that come first, one after
// another; of images that do, each image's by itself.
TEST_P(LongSums, GoOverImages) {
  install_fusing_evaluator();
  Tensor x = cast(random_leaf({60, 3, 30, 30}, 1) * 9.0, GetParam());
  evaluate(x);
  for (auto terms : {+[](const Tensor& a) { return a; }, +[](const Tensor& a) { return a + a; }}) {
    Tensor stored = reshape(permute(x, {1, 0, 2, 3}), {3, 54000});
    stored = terms(stored);
    evaluate(stored);
    const Value expected = sum_of(stored);
    Tensor by_images = cast(terms(x), GetParam() == Dtype::float16 ? Dtype::float32 : GetParam());
    by_images = sum(reshape(by_images, {60, 3, 900}), {2});
    evaluate(by_images);
    Tensor of_images = sum(by_images, {0});
    if (GetParam() == Dtype::float16) of_images = cast(of_images, GetParam());  // rounded once
    const Value expected_of_images = value_of(of_images);
    for (int threads : {1, 2, 3}) {
      cpu::set_thread_count(threads);
      Tensor turned = permute(terms(x), {1, 0, 2, 3});
      EXPECT_EQ(value_of(sum(turned, {1, 2, 3})), expected) << threads << " threads";
      EXPECT_EQ(value_of(sum(terms(x), {0, 2, 3})), expected_of_images) << threads << " threads";
      EXPECT_EQ(value_of(reshape(sum(terms(x), {0, 2, 3}, true), {3})), expected_of_images);
    }
    cpu::set_thread_count(0);
  }
}

// A single image, or a single channel, is one row.
TEST_P(LongSums, OfOneImageOrChannelAreRows) {
  install_fusing_evaluator();
  Tensor x = cast(random_leaf({54000}, 1) * 9.0, GetParam());
  evaluate(x);
  const Tensor channel = reshape(x, {60, 1, 900}), image = reshape(x, {1, 3, 18000});
  EXPECT_EQ(value_of(sum(channel, {0, 2})), value_of(reshape(sum(x, {0}), {1})));
  EXPECT_EQ(value_of(sum(image, {0, 2})), sum_of(reshape(x, {3, 18000})));
}

TEST_P(LongSums, ReadOneNumberAgainAndAgain) {
  install_fusing_evaluator();
  Tensor x = cast(random_leaf({3, 40000}, 1), GetParam()), ones = ones_like(x);
  evaluate(ones);
  EXPECT_EQ(sum_of(ones_like(x)), sum_of(ones));
}

// Elements that lie in runs are read where they lie, whatever lanes the runs begin in.
TEST_P(LongSums, ReadRuns) {
  install_fusing_evaluator();
  for (const Shape& shape :
       {Shape{40, 3, 784}, Shape{9, 2, 4097}, Shape{2, 20, 129}, Shape{5, 4, 20000}}) {
    Tensor all = cast(random_leaf(shape, 1) * 9.0, GetParam());
    evaluate(all);
    Tensor x = slice(all, 0, 1, shape[0] - 1, 1), turned = permute(x, {1, 0, 2});
    Tensor stored = add(turned, zeros_like(turned));
    evaluate(stored);
    Tensor squares = mul(turned, turned);
    EXPECT_EQ(value_of(sum(turned, {1, 2})), value_of(sum(stored, {1, 2}))) << to_string(shape);
    EXPECT_EQ(value_of(sum(squares, {1, 2})), value_of(sum(mul(stored, stored), {1, 2})));
    EXPECT_EQ(value_of(prod(x, {0, 2})), value_of(prod(stored, {1, 2})));
    EXPECT_EQ(value_of(max(x, {0, 2})), value_of(max(stored, {1, 2})));
  }
}

// What is gathered is as narrow as the terms, whatever their register held before them.
TEST_P(LongSums, FindTheGreatestOfTermsThatWereWider) {
  install_fusing_evaluator();
  Tensor x = cast(random_leaf({60, 3, 30, 30}, 1) * 9.0, GetParam());
  evaluate(x);
  auto terms = [](const Tensor& a) {
    Tensor wide = cast(a, Dtype::float64);
    return cast(mul(wide, square(wide)), GetParam());  // in the register of `wide`
  };
  Tensor stored = terms(reshape(permute(x, {1, 0, 2, 3}), {3, 54000}));
  evaluate(stored);
  const Value expected = value_of(max(stored, {1}));
  for (int threads : {1, 2}) {
    cpu::set_thread_count(threads);
    EXPECT_EQ(value_of(max(terms(x), {0, 2, 3})), expected) << threads << " threads";
  }
  cpu::set_thread_count(0);
}

// Narrow columns, of which several rows fill a tile, have the bits of wide ones; one is a row.
TEST_P(LongSums, GoDownNarrowColumns) {
  install_fusing_evaluator();
  Tensor wide = cast(random_leaf({700, 1500}, 1) * 9.0, GetParam());
  evaluate(wide);
  Tensor sums = sum(wide, {0}), products = prod(wide, {0}), squares = sum(square(wide), {0});
  evaluated({sums, products, squares});
  for (int64_t width = 2; width < 140; width += width < 70 ? 1 : 13) {
    auto columns = [&](const Tensor& x) {
      Tensor some = slice(x, x.rank() - 1, 7, width, 1);
      Tensor copy = add(some, zeros_like(some));
      evaluate(copy);
      return copy;
    };
    Tensor part = columns(wide);
    EXPECT_EQ(value_of(sum(part, {0})), value_of(columns(sums))) << width;
    EXPECT_EQ(value_of(prod(part, {0})), value_of(columns(products))) << width;
    EXPECT_EQ(value_of(sum(square(part), {0})), value_of(columns(squares))) << width;
  }
}

// Panels that are read together are combined as those that are summed one by one.
TEST(LongSumsOfPanels, HaveTheBitsOfEachPanelAlone) {
  install_fusing_evaluator();
  constexpr int64_t panels = 8, length = (panels - 1) * row_panel + 100;
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int32}) {
    Tensor x = cast(random_leaf({2, length}, 1) * 9.0, dtype);
    Tensor y = cast(random_leaf({2, length}, 2) * 9.0, dtype);
    evaluated({x, y});
    for (auto terms : {+[](const Tensor&a, const Tensor&) { return a; },
                       +[](const Tensor&a, const Tensor&) { return square(a); },
                       +[](const Tensor&a, const Tensor&b) { return mul(a, b); }}) {
      std::vector<Tensor> sums;
      for (int64_t begin = 0; begin < length; begin += row_panel) {
        const int64_t count = std::min(row_panel, length - begin);
        Tensor alone = sum(terms(slice(x, 1, begin, count, 1), slice(y, 1, begin, count, 1)), {1});
        evaluate(alone);
        sums.push_back(alone);
      }
      for (size_t half = 1; half < sums.size(); half *= 2) {
        for (size_t i = 0; i < sums.size(); i += 2 * half) sums[i] = sums[i] + sums[i + half];
      }
      const Value expected = value_of(sums[0]);
      for (int threads : {1, 2, 3}) {
        cpu::set_thread_count(threads);
        EXPECT_EQ(value_of(sum(terms(x, y), {1})), expected) << threads << " threads";
      }
      cpu::set_thread_count(0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LongSums,
                         ::testing::Values(Dtype::float32, Dtype::float64, Dtype::float16,
                                           Dtype::int32));

}  // namespace
}  // namespace mt::testing
