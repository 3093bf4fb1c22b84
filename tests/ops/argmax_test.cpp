// SPDX-License-Identifier: Apache-2.0
// Extremes' positions, and truth over axes.
#include <cmath>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(argmax, the_first_extreme_and_nan) {
  Tensor x = make({2, 3}, {1, 5, 5, 0, 0, 2}, Dtype::float32);
  EXPECT_EQ(read(argmax(x, {1})), (Numbers{1, 2}));
  EXPECT_EQ(read(argmin(x, {1})), (Numbers{0, 0}));
  EXPECT_EQ(read(argmax(x)), (Numbers{1}));
  EXPECT_EQ(argmax(x, {0}, true).shape(), (Shape{1, 3}));
  EXPECT_EQ(argmax(x).dtype(), Dtype::int64);
  EXPECT_EQ(read(argmax(make({3}, {1, NAN, NAN}, Dtype::float32))), (Numbers{1}));
  EXPECT_EQ(read(argmin(make({3}, {1, NAN, -INFINITY}, Dtype::float32))), (Numbers{1}));
  EXPECT_EQ(read(argmax(make({}, {4}, Dtype::float32))), (Numbers{0}));
  EXPECT_EQ(code_of([&] { argmax(make({2, 0}, {}, Dtype::float32), {1}); }), Code::invalid);
  EXPECT_EQ(argmax(make({2, 0}, {}, Dtype::float32), {0}).shape(), (Shape{0}));
}

TEST(argmax, every_dtype_agrees) {
  for (Dtype dtype : every_dtype) {
    SCOPED_TRACE(name_of(dtype));
    for (const Dims& axes : {Dims{0}, Dims{1}, Dims{2}, Dims{0, 2}, Dims{}}) {
      everywhere([&](const Make& given) {
        Tensor x = given({30, 40, 50}, special(30 * 40 * 50), dtype);
        return stack({argmax(x, axes), argmin(x, axes)}, 0);
      });
    }
    // Rows taken several at once, cut into panels, and as they are.
    for (const Shape& shape : {Shape{5000, 3}, Shape{40000, 2}, Shape{333, 130}, Shape{9, 300}}) {
      for (const Numbers& values :
           {special(element_count(shape)), scattered(element_count(shape), 90)}) {
        everywhere([&](const Make& given) {
          Tensor x = given(shape, values, dtype);
          return stack({argmax(x, {0}), argmin(x, {0})}, 0);
        });
      }
    }
    for (int64_t length : {1, 5, 16, 17, 128, 129}) {
      everywhere([&](const Make& given) {
        Tensor x = given({60, length}, special(60 * length), dtype);
        return stack({argmax(x, {1}), argmin(x, {1})}, 0);
      });
    }
    everywhere([&](const Make& given) {
      Numbers values = scattered(100000, 90);
      return stack({argmax(given({100000}, values, dtype)), argmin(given({100000}, values, dtype))},
                   0);
    });
  }
}

TEST(any, truth_over_axes) {
  Tensor x = make({2, 3}, {0, 0, 3, NAN, 1, 2}, Dtype::float32);
  EXPECT_EQ(read(any(x, {1})), (Numbers{1, 1}));
  EXPECT_EQ(read(all(x, {1})), (Numbers{0, 1}));
  EXPECT_EQ(read(any(x, {0}, true)), (Numbers{1, 1, 1}));
  EXPECT_EQ(read(all(x)), (Numbers{0}));
  EXPECT_EQ(any(x).dtype(), Dtype::boolean);
  EXPECT_EQ(read(any(make({2, 0}, {}, Dtype::float32), {1})), (Numbers{0, 0}));
  EXPECT_EQ(read(all(make({2, 0}, {}, Dtype::float32), {1})), (Numbers{1, 1}));
  EXPECT_EQ(read(all(make({}, {7}, Dtype::float32))), (Numbers{1}));
  everywhere([](const Make& given) {
    Tensor mask = given({300, 70}, scattered(300 * 70, 3), Dtype::boolean);
    return concat({any(mask, {1}), all(mask, {1}), any(mask, {0}), all(mask, {0})}, 0);
  });
}

}  // namespace
}  // namespace mt::testing
