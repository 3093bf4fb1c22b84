// SPDX-License-Identifier: Apache-2.0
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(take_along_axis, picks_one_for_each_and_broadcasts) {
  Tensor x = make({3, 4}, counting(12), Dtype::float32);
  EXPECT_EQ(read(take_along_axis(x, make({3, 1}, {1, 0, -1}, Dtype::int64), 1)),
            (Numbers{1, 4, 11}));
  EXPECT_EQ(read(take_along_axis(x, make({2, 1}, {2, 0}, Dtype::int32), 0)),
            (Numbers{8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(code_of([&] { take_along_axis(x, integers({0}), 0); }), Code::shape);
  EXPECT_EQ(code_of([&] { take_along_axis(x, make({1, 1}, {3}, Dtype::int64), 0); }), Code::index);
}

TEST(scatter_add, adds_equal_positions) {
  Tensor x = make({2, 3}, Numbers(6, 1), Dtype::float32);
  Tensor where = make({2, 3}, {0, 0, 2, 1, -1, 1}, Dtype::int64);
  EXPECT_EQ(read(scatter_add(x, where, make({2, 3}, counting(6, 1), Dtype::float32), 1)),
            (Numbers{4, 1, 4, 1, 11, 6}));
  Tensor rows = make({1, 3}, {0, 1, 0}, Dtype::int64);
  EXPECT_EQ(read(scatter_add(x, rows, make({1, 3}, {5, 6, 7}, Dtype::float32), 0)),
            (Numbers{6, 1, 8, 1, 7, 1}));
  EXPECT_EQ(code_of([&] { scatter_add(x, where, make({1}, {1}, Dtype::float32), 1); }),
            Code::shape);
  EXPECT_EQ(code_of([&] {
              scatter_add(x, where, make({2, 3}, counting(6), Dtype::float64), 1);
            }),
            Code::dtype);
}

// Long lines are gone through in parts, and what follows them has one element.
TEST(take_along_axis, long_lines_with_one_element_after_them) {
  const int64_t rows = 3, length = 9001, choices = 5;
  for (bool within : {true, false}) {  // the line itself is picked from, or what follows it
    const Shape shape = within ? Shape{rows, length, 1} : Shape{rows, length, choices};
    const int64_t size = within ? length : choices;
    const int axis = within ? 1 : 2;
    const Numbers values = scattered(element_count(shape), 1000);
    const Numbers picks = scattered(rows * length, size, 3);
    Numbers expected;
    for (int64_t i = 0; i < rows * length; ++i) {
      const auto pick = static_cast<int64_t>(picks[static_cast<size_t>(i)]);
      const int64_t at = within ? i / length * length + pick : i * choices + pick;
      expected.push_back(values[static_cast<size_t>(at)]);
    }
    Tensor x = make(shape, values, Dtype::float32);
    Tensor i = make({rows, length, 1}, picks, Dtype::int64);
    EXPECT_EQ(read(take_along_axis(x, i, axis)), expected) << axis;
  }
}

TEST(take_along_axis, every_way_of_running_agrees) {
  for (Dtype dtype : {Dtype::uint8, Dtype::int32, Dtype::float16, Dtype::float32, Dtype::float64}) {
    SCOPED_TRACE(name_of(dtype));
    for (int64_t axis : {0, 1, 2}) {
      Shape shape{20, 30, 40}, many = shape;
      many[static_cast<int>(axis)] = 50;
      int64_t count = element_count(many), size = shape[static_cast<int>(axis)];
      everywhere([&](const Make& given) {
        Tensor x = given(shape, scattered(24000, 100), dtype);
        Tensor i = given(many, scattered(count, size, 3), Dtype::int64);
        return take_along_axis(x, i, axis);
      });
      everywhere([&](const Make& given) {
        Tensor x = given(shape, scattered(24000, 4), dtype);
        Tensor i = given(many, scattered(count, size, 3), Dtype::int64);
        return scatter_add(x, i, given(many, scattered(count, 3, 8), dtype), axis);
      });
      everywhere([&](const Make& given) {  // one index for all that lies at a position of the axis
        Tensor x = given(shape, scattered(24000, 4), dtype);
        Shape line{1, 1, 1};
        line[static_cast<int>(axis)] = 50;
        Tensor i = expand(given(line, scattered(50, size, 3), Dtype::int64), many);
        return scatter_add(x, i, given(many, scattered(count, 3, 8), dtype), axis);
      });
    }
  }
}

TEST(take_along_axis, rows_are_dealt_out_at_every_outer_position) {
  const Shape many{2, 5000, 4, 8};
  everywhere([&](const Make& given) {
    Tensor i = expand(given({1, 5000, 1, 1}, scattered(5000, 9000, 3), Dtype::int64), many);
    Tensor values = given({2, 5000, 8, 4}, scattered(320000, 100, 8), Dtype::int32);
    Tensor x = given({2, 9000, 4, 8}, Numbers(576000, 1), Dtype::int32);
    return scatter_add(x, i, transpose(values), 1);
  });
}

TEST(take_along_axis, gradients) {
  Tensor i = make({2, 3}, {1, 1, 0, 2, 0, 1}, Dtype::int64);
  Numbers at_x = scattered(9, 9);
  check_gradient(make({3, 3}, at_x), [&](const Tensor& x) { return take_along_axis(x, i, 0); });
  check_gradient(make({2, 1}, {3, 4}), [&](const Tensor& x) {
    return take_along_axis(x, make({1, 3}, {0, 0, 0}, Dtype::int64), 1);
  });
  check_gradient(make({3, 3}, at_x),
                 [&](const Tensor& x) { return scatter_add(x, i, slice(x, 0, 1, 2, 1), 0); });
}

}  // namespace
}  // namespace mt::testing
