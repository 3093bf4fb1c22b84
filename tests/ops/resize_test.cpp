// SPDX-License-Identifier: Apache-2.0
#include "autodiff/backward.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

const Tensor row = make({4}, {1, 2, 4, 8});

TEST(Resize, Nearest) {
  expect_near(resize_nearest(row, {8}), {1, 1, 2, 2, 4, 4, 8, 8});
  expect_near(resize_nearest(row, {2}), {1, 4});
  expect_near(resize_nearest(row, {3}), {1, 2, 4});
  expect_near(resize_nearest(row, {6}), {1, 1, 2, 4, 4, 8});
  Tensor bytes = cast(make({1, 2, 2}, {1, 2, 3, 4}), Dtype::uint8);
  expect_near(resize_nearest(bytes, {3, 4}), {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4});
}

TEST(Resize, Linear) {
  expect_near(resize_linear(row, {4}, false), {1, 2, 4, 8});
  expect_near(resize_linear(row, {8}, false), {1, 1.25, 1.75, 2.5, 3.5, 5, 7, 8});
  expect_near(resize_linear(row, {2}, false), {1.5, 6});
  expect_near(resize_linear(row, {7}, true), {1, 1.5, 2, 3, 4, 6, 8});
  expect_near(resize_linear(row, {1}, true), {1});
  expect_near(resize_linear(make({1}, {3}), {3}, true), {3, 3, 3});
  expect_near(resize_linear(make({2, 2}, {0, 3, 6, 9}), {3, 3}, true),
              {0, 1.5, 3, 3, 4.5, 6, 6, 7.5, 9});
}

// Beyond the middles of the first and the last element nothing is weighed, let alone rounded.
TEST(Resize, KeepsTheEnds) {
  Tensor thirds = cast(make({2}, {1.0 / 3, 0.1}), Dtype::float32);
  std::vector<double> y = read(resize_linear(thirds, {14}, false)), x = read(thirds);
  for (size_t i : {0, 1, 2}) {
    EXPECT_EQ(y[i], x[0]);
    EXPECT_EQ(y[13 - i], x[1]);
  }
  Tensor half = resize_linear(cast(row, Dtype::bfloat16), {8}, false);
  EXPECT_EQ(half.dtype(), Dtype::bfloat16);
  expect_near(half, {1, 1.25, 1.75, 2.5, 3.5, 5, 7, 8});
  EXPECT_EQ(resize_linear(make({0, 2}, {}), {3}, false).shape(), (Shape{0, 3}));
  EXPECT_EQ(resize_nearest(make({0, 2}, {}), {3}).shape(), (Shape{0, 3}));
}

TEST(Resize, GradientsAddUp) {
  Tensor x = leaf(row);
  expect_near(gradients({sum(resize_nearest(x, {6}))}, {}, {x})[0], {2, 1, 2, 1});
  expect_near(gradients({sum(resize_linear(x, {8}, false))}, {}, {x})[0], {2, 2, 2, 2});
}

TEST(Resize, Refuses) {
  EXPECT_EQ(message_of([] {
              resize_nearest(row, {2, 2});
            }),
            "resize_nearest: 2 sizes given for [4]");
  EXPECT_EQ(message_of([] {
              resize_nearest(make({2, 0}, {}), {3});
            }),
            "resize_nearest: [2,0] to [3]: no size may be below 1");
  EXPECT_EQ(message_of([] { resize_linear(row, {0}, false); }),
            "resize_linear: [4] to [0]: no size may be below 1");
  EXPECT_EQ(message_of([] { resize_linear(cast(row, Dtype::int32), {2}, false); }),
            "resize_linear: needs floats, got int32");
  EXPECT_EQ(message_of([] { resize_nearest(row, {int64_t{1} << 62}); }),
            "resize_nearest: [4] to [4611686018427387904] is too large to address");
}

}  // namespace
}  // namespace mt::testing
