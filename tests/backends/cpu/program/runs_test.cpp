// SPDX-License-Identifier: Apache-2.0
// Rows that lie in runs and are only reduced give the bits that their copies do.
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/elementwise/instruction_sets.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/program/runs.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

Tensor now(Tensor value) {
  evaluate(value);
  return value;
}

std::vector<char> bits(const Tensor& x) {
  const Tensor whole = now(copy(x));
  auto* data = static_cast<const char*>(whole->data());
  return {data, data + whole->bytes()};
}

using Reduce = Tensor (*)(const Tensor& x);
const Reduce reductions[] = {
    [](const Tensor& x) {
      return sum(x, {1, 2});
    },
    [](const Tensor& x) {
      return prod(x, {1, 2});
    },
    [](const Tensor& x) {
      return max(x, {1, 2});
    },
    [](const Tensor& x) {
      return min(x, {1, 2});
    },
    [](const Tensor& x) {
      return mean(x, {1, 2}) * 3.0;
    },
};

// x: [images, channels, elements], of which each channel is reduced.
void check(const Tensor& x) {
  const Tensor channels = permute(x, {1, 0, 2});
  const Tensor in_order = now(copy(channels));
  for (const Reduce& reduce : reductions) {
    EXPECT_EQ(bits(reduce(channels)), bits(reduce(in_order))) << to_string(x.shape());
  }
}

TEST(Runs, RowsInRunsHaveTheBitsOfCopies) {
  for (int threads : {1, 3}) {
    cpu::set_thread_count(threads);
    cpu::for_each_instruction_set([] {
      for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int64, Dtype::bfloat16}) {
        for (const Shape& shape : {Shape{3, 4, 128}, Shape{5, 6, 131}, Shape{2, 3, 127},
                                   Shape{40, 5, 784}, Shape{3, 1, 30000}, Shape{2, 9, 16385}}) {
          const Tensor x = now(cast(noise(shape, 1, Dtype::float32) + 1.0, dtype));
          check(x);
          check(slice(x, 2, 1, shape[2] - 1, 1));  // gaps between runs
          check(flip(x, {0}));
        }
      }
    });
  }
  cpu::set_thread_count(0);
}

TEST(Runs, AreFoundWhereTheyAreLong) {
  const Layout images{{6, 64, 784}, {784, 6 * 784, 1}, 0};
  const auto length = [](const Layout& layout, Reduction reduction = Reduction::sum) {
    return cpu::runs_of(layout, reduction).length;
  };
  EXPECT_EQ(length(images), 784);
  EXPECT_EQ(length({{6, 64, 28, 28}, {784, 6 * 784, 28, 1}, 0}), 784);
  EXPECT_EQ(length({{6, 64, 28, 28}, {784, 6 * 784, 28, 1}, 0}, Reduction::max), 784);
  EXPECT_EQ(length({{6, 64, 100}, {100, 600, 1}, 0}), 0);
  EXPECT_EQ(length({{6, 64, 200}, {200, 1200, 1}, 0}), 200);
  EXPECT_EQ(length({{6, 64, 200}, {200, 1200, 1}, 0}, Reduction::min), 0);
  EXPECT_EQ(length({{6, 784}, {1, 6}, 0}), 0);
  EXPECT_EQ(length({{6, 784}, {1568, 2}, 0}), 0);
}

// An extreme that is zero has the sign that it has in order.
TEST(Runs, ZerosOfEitherSignHaveTheBitsOfCopies) {
  cpu::for_each_instruction_set([] {
    for (int64_t elements : {300, 784, 20000}) {
      const Tensor signs = noise({5, 4, elements}, 1, Dtype::float32);
      check(now(signs * 0.0));
    }
  });
}

TEST(Runs, NanIsTheLargest) {
  for (int64_t elements : {200, 300}) {
    Tensor x = now(noise({4, 3, elements}, 1, Dtype::float32));
    static_cast<float*>(x->data())[3 * elements + elements + 77] = NAN;  // of image 1, channel 1
    const Tensor largest = now(max(permute(x, {1, 0, 2}), {1, 2}));
    auto* values = static_cast<const float*>(largest->data());
    EXPECT_FALSE(std::isnan(values[0]));
    EXPECT_TRUE(std::isnan(values[1]));
    EXPECT_FALSE(std::isnan(values[2]));
  }
}

}  // namespace
}  // namespace mt::testing
