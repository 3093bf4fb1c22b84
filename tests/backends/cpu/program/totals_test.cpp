// SPDX-License-Identifier: Apache-2.0
// What a row group adds up of its columns has the bits that the same has as a group of its own.
#include "backends/cpu/program/totals.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/elementwise/instruction_sets.h"
#include "backends/cpu/parallel/parallel.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

std::vector<char> bits(const Tensor& x) {
  auto* data = static_cast<const char*>(x->data());
  return {data, data + x->bytes()};
}

// Rows, and sums over all of them of what the rows have at hand.
std::vector<Tensor> rows_and_totals(const Tensor& x, const Tensor& dy) {
  Tensor y = x - mean(x, {1}, true), scale = sum(square(y), {1}, true);
  Tensor dx = dy * scale - y;
  return {dx,
          sum(dy, {0}),
          sum(dy * y, {0}),
          sum(dy * scale, {0}),
          sum(dy * (y * scale), {0}),
          max(y, {0}),
          min(x, {0}, true),
          prod(cast(y, Dtype::float64) + 1.0, {0}),
          sum(cast(dy * 100.0, Dtype::int32), {0})};
}

// The same, one at a time, of operands that are there.
std::vector<Tensor> one_by_one(const Tensor& x, const Tensor& dy) {
  std::vector<Tensor> results;
  for (size_t i = 0; i < 9; ++i) {
    Tensor y = x - mean(x, {1}, true), scale = sum(square(y), {1}, true);
    evaluate(y);
    evaluate(scale);
    Tensor scaled = y * scale;
    evaluate(scaled);
    Tensor product = dy * (i == 2   ? y
                           : i == 4 ? scaled
                                    : scale),
           wide = cast(y, Dtype::float64) + 1.0;
    Tensor whole = cast(dy * 100.0, Dtype::int32);
    for (const Tensor& value : {product, wide, whole}) evaluate(value);
    Tensor result = i == 0             ? product - y
                    : i == 1           ? sum(dy, {0})
                    : i >= 2 && i <= 4 ? sum(product, {0})
                    : i == 5           ? max(y, {0})
                    : i == 6           ? min(x, {0}, true)
                    : i == 7           ? prod(wide, {0})
                                       : sum(whole, {0});
    evaluate(result);
    results.push_back(result);
  }
  return results;
}

void check(const Tensor& x, const Tensor& dy) {
  std::vector<Tensor> together = rows_and_totals(x, dy), alone = one_by_one(x, dy);
  evaluate(together.data(), together.size());
  for (size_t i = 0; i < together.size(); ++i) {
    EXPECT_EQ(bits(together[i]), bits(alone[i])) << i << " of " << x.shape()[0] << " rows";
  }
}

TEST(Totals, HaveTheBitsOfSumsAlone) {
  for (Shape shape : {Shape{600, 65}, Shape{513, 1030}, Shape{1500, 20}, Shape{127, 33}}) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16}) {
      Tensor x = noise(shape, 1, dtype), dy = noise(shape, 2, dtype);
      evaluate(x);
      evaluate(dy);
      for (int threads : {1, 3}) {
        cpu::set_thread_count(threads);
        cpu::for_each_instruction_set([&] { check(x, dy); });
      }
    }
  }
  cpu::set_thread_count(0);
}

// A NaN and infinities reach the totals of their columns alone.
TEST(Totals, KeepNaNToItsColumn) {
  std::vector<double> numbers(600 * 40, 0.5);
  numbers[300 * 40 + 7] = std::nan("");
  Tensor x = make({600, 40}, numbers, Dtype::float32);
  std::vector<Tensor> results{x + max(x, {1}, true), sum(x, {0}), max(x, {0})};
  evaluate(results.data(), results.size());
  for (size_t i = 1; i < 3; ++i) {
    std::vector<double> totals = read(results[i]);
    for (size_t column = 0; column < 40; ++column) {
      EXPECT_EQ(std::isnan(totals[column]), column == 7) << i << " " << column;
    }
  }
}

}  // namespace
}  // namespace mt::testing
