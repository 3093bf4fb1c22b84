// SPDX-License-Identifier: Apache-2.0
// Joining and splitting.
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(concat, joins_and_promotes) {
  Tensor a = make({1, 2}, {1, 2}, Dtype::int32), b = make({2, 2}, counting(4), Dtype::float32);
  Tensor y = concat({a, b}, 0);
  EXPECT_EQ(y.dtype(), Dtype::float32);
  EXPECT_EQ(read(y), (Numbers{1, 2, 0, 1, 2, 3}));
  EXPECT_EQ(read(concat({transpose(b), b}, -1)), (Numbers{0, 2, 0, 1, 1, 3, 2, 3}));
  EXPECT_EQ(concat({make({0, 2}, {}, Dtype::float32), b}, 0).shape(), (Shape{2, 2}));
  EXPECT_EQ(read(stack({b, b + 10.0}, 1)), (Numbers{0, 1, 10, 11, 2, 3, 12, 13}));
  EXPECT_EQ(read(stack({make({}, {1}, Dtype::float32), make({}, {2}, Dtype::float32)}, 0)),
            (Numbers{1, 2}));
  EXPECT_EQ(code_of([&] { concat({a, b}, 1); }), Code::shape);
  EXPECT_EQ(code_of([&] { stack({a, b}, 0); }), Code::shape);
  EXPECT_EQ(code_of([&] { concat({}, 0); }), Code::invalid);
}

// Of any size in memory, of as many as fill vectors and a rest, and of one tensor twice.
TEST(concat, stacks_pairs_by_turns) {
  for (Dtype dtype :
       {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::int8, Dtype::boolean}) {
    for (int64_t n : {1, 7, 64, 1003, 40000}) {
      const Tensor a = cast(noise({n}, 1, Dtype::float32) * 9.0, dtype);
      const Tensor b = cast(noise({n}, 2, Dtype::float32) * 9.0, dtype);
      for (const auto& [first, second] : {std::pair{a, b}, std::pair{b, a}, std::pair{a, a}}) {
        const Numbers x = read(first), y = read(second), both = read(stack({first, second}, -1));
        ASSERT_EQ(both.size(), 2 * x.size());
        for (size_t i = 0; i < x.size(); ++i) {
          ASSERT_EQ(both[2 * i], x[i]) << name_of(dtype) << " " << n;
          ASSERT_EQ(both[2 * i + 1], y[i]) << name_of(dtype) << " " << n;
        }
      }
    }
  }
}

TEST(split, cuts) {
  Tensor x = make({2, 5}, counting(10), Dtype::float32);
  std::vector<Tensor> parts = split(x, {2, 0, 3}, 1);
  EXPECT_EQ(read(parts[0]), (Numbers{0, 1, 5, 6}));
  EXPECT_EQ(parts[1].shape(), (Shape{2, 0}));
  EXPECT_EQ(read(parts[2]), (Numbers{2, 3, 4, 7, 8, 9}));
  EXPECT_EQ(code_of([&] { split(x, {2, 2}, 1); }), Code::shape);
  EXPECT_EQ(code_of([&] { split(x, {6, -1}, 1); }), Code::shape);
}

TEST(concat, every_way_of_running_agrees) {
  for (Dtype dtype :
       {Dtype::boolean, Dtype::int16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    SCOPED_TRACE(name_of(dtype));
    for (int64_t axis : {0, 1, 2}) {
      everywhere([&](const Make& given) {
        Tensor x = given({40, 30, 20}, scattered(40 * 30 * 20, 50), dtype);
        return concat({x, flip(x, {1}), x, slice(x, static_cast<int>(axis), 3, 7, 2)}, axis);
      });
    }
  }
}

TEST(concat, gradients) {
  const Numbers at_x = scattered(12, 9);
  check_gradient(make({3, 4}, at_x), [](const Tensor& x) {
    return concat({x, x * x, flip(x, {0})}, 1);
  });
  check_gradient(make({3, 4}, at_x), [](const Tensor& x) { return stack({x, x * 2.0}, 1); });
  check_gradient(make({3, 4}, at_x), [](const Tensor& x) { return split(x, {1, 3}, 1)[1]; });
}

}  // namespace
}  // namespace mt::testing
