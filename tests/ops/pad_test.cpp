// SPDX-License-Identifier: Apache-2.0
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(pad, fills) {
  Tensor x = make({2, 2}, counting(4, 1), Dtype::float32);
  EXPECT_EQ(read(pad(x, {1, 0}, {0, 1}, 9)), (Numbers{9, 9, 9, 1, 2, 9, 3, 4, 9}));
  EXPECT_EQ(read(pad(cast(x, Dtype::uint8), {0, 1}, {0, 0}, 300)), (Numbers{255, 1, 2, 255, 3, 4}));
  EXPECT_EQ(read(pad(make({0}, {}, Dtype::float32), {1}, {1}, -1)), (Numbers{-1, -1}));
  const Tensor nowhere = full({0}, 2, Dtype::float32, x.device());  // has no memory
  EXPECT_EQ(read(pad(nowhere, {1}, {1}, -1)), (Numbers{-1, -1}));
  EXPECT_EQ(code_of([&] { pad(x, {1}, {1}, 0); }), Code::shape);
  EXPECT_EQ(code_of([&] { pad(x, {-1, 0}, {0, 0}, 0); }), Code::invalid);
}

TEST(pad, every_way_of_running_agrees) {
  for (Dtype dtype :
       {Dtype::boolean, Dtype::int16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    SCOPED_TRACE(name_of(dtype));
    for (int64_t axis : {0, 1, 2}) {
      everywhere([&](const Make& given) {
        Tensor x = given({20, 30, 40}, scattered(40 * 30 * 20, 50), dtype);
        Dims before{0, 0, 0}, after{0, 0, 0};
        before[static_cast<int>(axis)] = 3;
        after[static_cast<int>(axis)] = 5;
        return pad(permute(x, {2, 1, 0}), before, after, 1);
      });
      for (int64_t step : {1, 2, -3}) {
        everywhere([&](const Make& given) {
          Tensor x = given({4, 5, 6}, scattered(4 * 5 * 6, 50), dtype);
          Shape shape{25, 26, 27};
          for (int d = 0; d < 3; ++d) {
            if (d != axis) shape[d] = x.shape()[d];
          }
          return place_along(x, shape, static_cast<int>(axis), step > 0 ? 2 : 23, step);
        });
      }
    }
    everywhere([&](const Make& given) {
      return pad(given({2, 3, 4}, scattered(24, 50), dtype), {1, 2, 0}, {200, 100, 3}, 0);
    });
  }
}

TEST(pad, continues_by_what_is_there) {
  Tensor x = make({3}, {1, 2, 3}, Dtype::int32);
  EXPECT_EQ(read(pad(x, {2}, {2}, Border::reflect)), (Numbers{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(read(pad(x, {1}, {4}, Border::edge)), (Numbers{1, 1, 2, 3, 3, 3, 3, 3}));
  EXPECT_EQ(read(pad(x, {3}, {1}, Border::wrap)), (Numbers{1, 2, 3, 1, 2, 3, 1}));
  Tensor corners = make({2, 2}, {1, 2, 3, 4}, Dtype::float32);
  EXPECT_EQ(read(pad(corners, {1, 1}, {0, 0}, Border::reflect)),
            (Numbers{4, 3, 4, 2, 1, 2, 4, 3, 4}));
  Tensor none = make({0, 2}, {}, Dtype::float32);
  for (Border border : {Border::reflect, Border::edge, Border::wrap}) {
    EXPECT_EQ(read(pad(corners, {0, 0}, {0, 0}, border)), read(corners));
    EXPECT_EQ(pad(none, {0, 1}, {0, 1}, border).shape(), (Shape{0, 4}));
    EXPECT_EQ(code_of([&] { pad(none, {1, 0}, {0, 0}, border); }), Code::invalid);
    EXPECT_EQ(code_of([&] { pad(x, {-1}, {0}, border); }), Code::invalid);
    EXPECT_EQ(code_of([&] { pad(x, {1, 1}, {0, 0}, border); }), Code::shape);
    check_gradient(make({3, 4}, scattered(12, 9)), [&](const Tensor& of) {
      return pad(of, {1, 0}, {2, 3}, border);
    });
  }
  EXPECT_EQ(code_of([&] { pad(x, {3}, {0}, Border::reflect); }), Code::invalid);
  EXPECT_EQ(code_of([&] { pad(x, {0}, {4}, Border::wrap); }), Code::invalid);
}

TEST(pad, gradients) {
  const Numbers at_x = scattered(12, 9);
  check_gradient(make({3, 4}, at_x), [](const Tensor& x) { return pad(x, {1, 0}, {2, 1}, 5); });
}

}  // namespace
}  // namespace mt::testing
