// SPDX-License-Identifier: Apache-2.0
// Tensors that are functions of their positions.
#include <cmath>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(range, arange_and_linspace) {
  Device& cpu = testing::cpu();
  EXPECT_EQ(read(arange(2, 9, 3, Dtype::int32, cpu)), (Numbers{2, 5, 8}));
  EXPECT_EQ(read(arange(1, 0, -0.25, Dtype::float64, cpu)), (Numbers{1, 0.75, 0.5, 0.25}));
  EXPECT_EQ(arange(5, 2, 1, Dtype::int64, cpu).shape(), (Shape{0}));
  EXPECT_EQ(read(arange(0, 3, 0.5, Dtype::int64, cpu)), (Numbers{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(code_of([&] { arange(0, 1, 0, Dtype::float32, cpu); }), Code::invalid);
  EXPECT_EQ(code_of([&] { arange(0, INFINITY, 1, Dtype::float32, cpu); }), Code::invalid);
  EXPECT_EQ(read(linspace(0, 1, 5, Dtype::float32, cpu)), (Numbers{0, 0.25, 0.5, 0.75, 1}));
  for (int64_t count : {7, 10, 49, 1000}) {
    EXPECT_EQ(read(linspace(0.1, 0.7, count, Dtype::float64, cpu)).back(), 0.7);
  }
  EXPECT_EQ(read(linspace(3, 9, 1, Dtype::float64, cpu)), (Numbers{3}));
  EXPECT_EQ(linspace(3, 9, 0, Dtype::float64, cpu).shape(), (Shape{0}));
  EXPECT_EQ(code_of([&] { linspace(0, 1, 3, Dtype::int64, cpu); }), Code::dtype);
}

TEST(range, begins_with_no_negative_zero) {
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (double step : {1.0, -1.0, 0.5, -0.5}) {
      EXPECT_FALSE(std::signbit(read(arange(0, 5 * step, step, dtype, cpu()))[0])) << step;
      EXPECT_FALSE(std::signbit(read(linspace(0, step, 5, dtype, cpu()))[0])) << step;
    }
  }
}

TEST(range, subnormal_steps_keep_their_digits) {
  const double least = std::numeric_limits<double>::denorm_min();
  auto linear = [](double from, double to, int64_t count) {
    return read(linspace(from, to, count, Dtype::float64, cpu()));
  };
  EXPECT_EQ(linear(0, 2e-322, 1001)[500], 1e-322);
  EXPECT_EQ(linear(0, -6 * least, 5), (Numbers{0, -2 * least, -3 * least, -4 * least, -6 * least}));
  EXPECT_EQ(linear(3, 3, 3), (Numbers{3, 3, 3}));
}

TEST(range, eye_one_hot_and_triangles) {
  Device& cpu = testing::cpu();
  EXPECT_EQ(read(eye(2, 3, 1, Dtype::float32, cpu)), (Numbers{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(read(eye(3, 2, -1, Dtype::int8, cpu)), (Numbers{0, 0, 1, 0, 0, 1}));
  for (int64_t k = -4; k <= 4; ++k) {
    EXPECT_EQ(eye(0, 3, k, Dtype::float32, cpu).shape(), (Shape{0, 3}));
    EXPECT_EQ(eye(3, 0, k, Dtype::float32, cpu).shape(), (Shape{3, 0}));
    EXPECT_EQ(eye(0, 0, k, Dtype::float32, cpu).shape(), (Shape{0, 0}));
    EXPECT_EQ(tril(make({0, 3}, {}, Dtype::float32), k).shape(), (Shape{0, 3}));
    EXPECT_EQ(triu(make({3, 0}, {}, Dtype::float32), k).shape(), (Shape{3, 0}));
  }
  Tensor hot = one_hot(make({4}, {1, 0, 5, -1}, Dtype::int8), 2, Dtype::float32);
  EXPECT_EQ(read(hot), (Numbers{0, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(one_hot(make({}, {1}, Dtype::uint64), 3, Dtype::boolean).shape(), (Shape{3}));
  EXPECT_EQ(code_of([&] { one_hot(make({1}, {1}, Dtype::float32), 3, Dtype::float32); }),
            Code::dtype);
  Tensor x = make({3, 3}, counting(9, 1), Dtype::float32);
  EXPECT_EQ(read(tril(x, 0)), (Numbers{1, 0, 0, 4, 5, 0, 7, 8, 9}));
  EXPECT_EQ(read(triu(x, 1)), (Numbers{0, 2, 3, 0, 0, 6, 0, 0, 0}));
  EXPECT_EQ(read(tril(cast(x, Dtype::boolean), -1)), (Numbers{0, 0, 0, 1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(code_of([&] { tril(make({1}, {1}, Dtype::float32), 0); }), Code::shape);
  everywhere([](const Make& given) {
    Tensor batch = given({6, 70, 80}, scattered(6 * 70 * 80, 100), Dtype::float16);
    return concat({tril(batch, 3), triu(batch, -5)}, 0);
  });
}

TEST(triangles, gradients) {
  const Numbers at_x = scattered(12, 9);
  check_gradient(make({3, 4}, at_x), [](const Tensor& x) { return tril(x, 1) + triu(x, -1); });
}

}  // namespace
}  // namespace mt::testing
