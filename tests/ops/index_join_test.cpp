// SPDX-License-Identifier: Apache-2.0
// Joining, padding, folding, and tensors that are functions of their positions.
#include <cmath>

#include "ops/index_support.h"

namespace mt {
namespace {

using namespace index_test;

TEST(concat, joins_and_promotes) {
  device();
  Tensor a = tensor({1, 2}, {1, 2}, Dtype::int32), b = tensor(counting(4), {2, 2});
  Tensor y = concat({a, b}, 0);
  EXPECT_EQ(y.dtype(), Dtype::float32);
  EXPECT_EQ(numbers(y), (Numbers{1, 2, 0, 1, 2, 3}));
  EXPECT_EQ(numbers(concat({transpose(b), b}, -1)), (Numbers{0, 2, 0, 1, 1, 3, 2, 3}));
  EXPECT_EQ(concat({tensor({}, {0, 2}), b}, 0).shape(), (Shape{2, 2}));
  EXPECT_EQ(numbers(stack({b, b + 10.0}, 1)), (Numbers{0, 1, 10, 11, 2, 3, 12, 13}));
  EXPECT_EQ(numbers(stack({tensor({1}, {}), tensor({2}, {})}, 0)), (Numbers{1, 2}));
  EXPECT_EQ(code_of([&] { concat({a, b}, 1); }), Code::shape);
  EXPECT_EQ(code_of([&] { stack({a, b}, 0); }), Code::shape);
  EXPECT_EQ(code_of([&] { concat({}, 0); }), Code::invalid);
}

TEST(tile, and_repeat) {
  Tensor x = tensor(counting(4, 1), {2, 2});
  EXPECT_EQ(numbers(tile(x, {2, 2})), (Numbers{1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(numbers(tile(x, {2})), (Numbers{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(tile(x, {3, 1, 0}).shape(), (Shape{3, 2, 0}));
  EXPECT_EQ(numbers(repeat(x, 2, 0)), (Numbers{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(numbers(repeat(x, 2, 1)), (Numbers{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(repeat(x, 0, 1).shape(), (Shape{2, 0}));
  EXPECT_EQ(code_of([&] { tile(x, {-1}); }), Code::invalid);
  EXPECT_EQ(code_of([&] { repeat(x, -1, 0); }), Code::invalid);
  EXPECT_EQ(code_of([&] { repeat(x, INT64_MAX, 0); }), Code::shape);
  EXPECT_EQ(code_of([&] { repeat(x, INT64_MAX / 2, 0); }), Code::shape);
  // Where no dimension can be added.
  Shape most = Shape::filled(max_rank, 1);
  most[max_rank - 1] = 4;
  Tensor deep = reshape(x, most);
  EXPECT_EQ(numbers(tile(deep, {2})), (Numbers{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(numbers(repeat(deep, 2, -1)), (Numbers{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(numbers(tile(reshape(x, {4}), Dims::filled(max_rank, 1))), (Numbers{1, 2, 3, 4}));
}

TEST(split, cuts) {
  Tensor x = tensor(counting(10), {2, 5});
  std::vector<Tensor> parts = split(x, {2, 0, 3}, 1);
  EXPECT_EQ(numbers(parts[0]), (Numbers{0, 1, 5, 6}));
  EXPECT_EQ(parts[1].shape(), (Shape{2, 0}));
  EXPECT_EQ(numbers(parts[2]), (Numbers{2, 3, 4, 7, 8, 9}));
  EXPECT_EQ(code_of([&] { split(x, {2, 2}, 1); }), Code::shape);
  EXPECT_EQ(code_of([&] { split(x, {6, -1}, 1); }), Code::shape);
}

TEST(pad, fills) {
  Tensor x = tensor(counting(4, 1), {2, 2});
  EXPECT_EQ(numbers(pad(x, {1, 0}, {0, 1}, 9)), (Numbers{9, 9, 9, 1, 2, 9, 3, 4, 9}));
  EXPECT_EQ(numbers(pad(cast(x, Dtype::uint8), {0, 1}, {0, 0}, 300)),
            (Numbers{255, 1, 2, 255, 3, 4}));
  EXPECT_EQ(numbers(pad(tensor({}, {0}), {1}, {1}, -1)), (Numbers{-1, -1}));
  EXPECT_EQ(code_of([&] { pad(x, {1}, {1}, 0); }), Code::shape);
  EXPECT_EQ(code_of([&] { pad(x, {-1, 0}, {0, 0}, 0); }), Code::invalid);
}

TEST(join, every_way_of_running_agrees) {
  for (Dtype dtype :
       {Dtype::boolean, Dtype::int16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    SCOPED_TRACE(name_of(dtype));
    for (int64_t axis : {0, 1, 2}) {
      everywhere([&](const Make& make) {
        Tensor x = make(scattered(40 * 30 * 20, 50), {40, 30, 20}, dtype);
        return concat({x, flip(x, {1}), x, slice(x, static_cast<int>(axis), 3, 7, 2)}, axis);
      });
      everywhere([&](const Make& make) {
        Tensor x = make(scattered(40 * 30 * 20, 50), {20, 30, 40}, dtype);
        Dims before{0, 0, 0}, after{0, 0, 0};
        before[static_cast<int>(axis)] = 3;
        after[static_cast<int>(axis)] = 5;
        return pad(permute(x, {2, 1, 0}), before, after, 1);
      });
      for (int64_t step : {1, 2, -3}) {
        everywhere([&](const Make& make) {
          Tensor x = make(scattered(4 * 5 * 6, 50), {4, 5, 6}, dtype);
          Shape shape{25, 26, 27};
          for (int d = 0; d < 3; ++d) {
            if (d != axis) shape[d] = x.shape()[d];
          }
          return place_along(x, shape, static_cast<int>(axis), step > 0 ? 2 : 23, step);
        });
      }
    }
    everywhere([&](const Make& make) {
      return pad(make(scattered(24, 50), {2, 3, 4}, dtype), {1, 2, 0}, {200, 100, 3}, 0);
    });
  }
}

TEST(fold, every_way_of_running_agrees) {
  for (Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::float64}) {
    for (int64_t step : {1, 2, 3}) {
      for (int64_t dilation : {1, 2}) {
        for (int axis : {0, 1, 2}) {
          Shape shape{12, 13, 14};
          everywhere([&](const Make& make) {
            Shape windows = shape;
            windows[axis] = (shape[axis] - 2 * dilation - 1) / step + 1;
            windows.push_back(3);
            Numbers values = scattered(element_count(windows), 9);
            return fold(make(values, windows, dtype), shape, axis, step, dilation);
          });
        }
      }
    }
    everywhere([&](const Make& make) {  // longer than one chunk of sums
      return fold(make(scattered(2 * 1500 * 5, 9), {2, 1500, 5}, dtype), {2, 3003}, 1, 2, 1);
    });
  }
}

TEST(join, gradients) {
  Numbers at_x = scattered(12, 9);
  check_gradient(at_x, {3, 4}, [](const Tensor& x) { return concat({x, x * x, flip(x, {0})}, 1); });
  check_gradient(at_x, {3, 4}, [](const Tensor& x) { return stack({x, x * 2.0}, 1); });
  check_gradient(at_x, {3, 4}, [](const Tensor& x) { return split(x, {1, 3}, 1)[1]; });
  check_gradient(at_x, {3, 4}, [](const Tensor& x) { return pad(x, {1, 0}, {2, 1}, 5); });
  check_gradient(at_x, {3, 4}, [](const Tensor& x) { return slice(x, 1, 3, 2, -2); });
  check_gradient(at_x, {3, 4}, [](const Tensor& x) { return window(x, 1, 2, 2, 1); });
  check_gradient(at_x, {3, 4},
                 [](const Tensor& x) { return window(window(x, 1, 2, 1, 2), 0, 2, 1, 1); });
  check_gradient(at_x, {3, 4}, [](const Tensor& x) { return tril(x, 1) + triu(x, -1); });
}

TEST(range, arange_and_linspace) {
  Device& cpu = device();
  EXPECT_EQ(numbers(arange(2, 9, 3, Dtype::int32, cpu)), (Numbers{2, 5, 8}));
  EXPECT_EQ(numbers(arange(1, 0, -0.25, Dtype::float64, cpu)), (Numbers{1, 0.75, 0.5, 0.25}));
  EXPECT_EQ(arange(5, 2, 1, Dtype::int64, cpu).shape(), (Shape{0}));
  EXPECT_EQ(numbers(arange(0, 3, 0.5, Dtype::int64, cpu)), (Numbers{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(code_of([&] { arange(0, 1, 0, Dtype::float32, cpu); }), Code::invalid);
  EXPECT_EQ(code_of([&] { arange(0, INFINITY, 1, Dtype::float32, cpu); }), Code::invalid);
  EXPECT_EQ(numbers(linspace(0, 1, 5, Dtype::float32, cpu)), (Numbers{0, 0.25, 0.5, 0.75, 1}));
  for (int64_t count : {7, 10, 49, 1000}) {
    EXPECT_EQ(numbers(linspace(0.1, 0.7, count, Dtype::float64, cpu)).back(), 0.7);
  }
  EXPECT_EQ(numbers(linspace(3, 9, 1, Dtype::float64, cpu)), (Numbers{3}));
  EXPECT_EQ(linspace(3, 9, 0, Dtype::float64, cpu).shape(), (Shape{0}));
  EXPECT_EQ(code_of([&] { linspace(0, 1, 3, Dtype::int64, cpu); }), Code::dtype);
}

TEST(range, begins_with_no_negative_zero) {
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (double step : {1.0, -1.0, 0.5, -0.5}) {
      EXPECT_FALSE(std::signbit(numbers(arange(0, 5 * step, step, dtype, device()))[0])) << step;
      EXPECT_FALSE(std::signbit(numbers(linspace(0, step, 5, dtype, device()))[0])) << step;
    }
  }
}

TEST(range, subnormal_steps_keep_their_digits) {
  const double least = std::numeric_limits<double>::denorm_min();
  auto linear = [](double from, double to, int64_t count) {
    return numbers(linspace(from, to, count, Dtype::float64, device()));
  };
  EXPECT_EQ(linear(0, 2e-322, 1001)[500], 1e-322);
  EXPECT_EQ(linear(0, -6 * least, 5), (Numbers{0, -2 * least, -3 * least, -4 * least, -6 * least}));
  EXPECT_EQ(linear(3, 3, 3), (Numbers{3, 3, 3}));
}

TEST(range, eye_one_hot_and_triangles) {
  Device& cpu = device();
  EXPECT_EQ(numbers(eye(2, 3, 1, Dtype::float32, cpu)), (Numbers{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(numbers(eye(3, 2, -1, Dtype::int8, cpu)), (Numbers{0, 0, 1, 0, 0, 1}));
  for (int64_t k = -4; k <= 4; ++k) {
    EXPECT_EQ(eye(0, 3, k, Dtype::float32, cpu).shape(), (Shape{0, 3}));
    EXPECT_EQ(eye(3, 0, k, Dtype::float32, cpu).shape(), (Shape{3, 0}));
    EXPECT_EQ(eye(0, 0, k, Dtype::float32, cpu).shape(), (Shape{0, 0}));
    EXPECT_EQ(tril(tensor({}, {0, 3}), k).shape(), (Shape{0, 3}));
    EXPECT_EQ(triu(tensor({}, {3, 0}), k).shape(), (Shape{3, 0}));
  }
  Tensor hot = one_hot(tensor({1, 0, 5, -1}, {4}, Dtype::int8), 2, Dtype::float32);
  EXPECT_EQ(numbers(hot), (Numbers{0, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(one_hot(tensor({1}, {}, Dtype::uint64), 3, Dtype::boolean).shape(), (Shape{3}));
  EXPECT_EQ(code_of([&] { one_hot(tensor({1}, {1}), 3, Dtype::float32); }), Code::dtype);
  Tensor x = tensor(counting(9, 1), {3, 3});
  EXPECT_EQ(numbers(tril(x, 0)), (Numbers{1, 0, 0, 4, 5, 0, 7, 8, 9}));
  EXPECT_EQ(numbers(triu(x, 1)), (Numbers{0, 2, 3, 0, 0, 6, 0, 0, 0}));
  EXPECT_EQ(numbers(tril(cast(x, Dtype::boolean), -1)), (Numbers{0, 0, 0, 1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(code_of([&] { tril(tensor({1}, {1}), 0); }), Code::shape);
  everywhere([](const Make& make) {
    Tensor batch = make(scattered(6 * 70 * 80, 100), {6, 70, 80}, Dtype::float16);
    return concat({tril(batch, 3), triu(batch, -5)}, 0);
  });
}

TEST(range, select_and_slice) {
  Tensor x = tensor(counting(6), {2, 3});
  EXPECT_EQ(numbers(select(x, 1, -1)), (Numbers{2, 5}));
  EXPECT_EQ(numbers(slice_between(x, 1, INT64_MIN, INT64_MIN, -1)), (Numbers{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(slice_between(x, 0, 5, 9, 1).shape(), (Shape{0, 3}));
  EXPECT_EQ(slice_between(x, 0, 0, INT64_MAX, INT64_MAX).shape(), (Shape{1, 3}));
  EXPECT_EQ(numbers(slice_between(x, 1, INT64_MAX, INT64_MIN + 1, INT64_MIN)), (Numbers{2, 5}));
  EXPECT_EQ(code_of([&] { select(x, 0, 2); }), Code::index);
  EXPECT_EQ(code_of([&] { slice_between(x, 0, 0, 1, 0); }), Code::invalid);
}

}  // namespace
}  // namespace mt
