// SPDX-License-Identifier: Apache-2.0
// Picking along an axis, adding where indices say, and what depends on values.
#include "ops/index_support.h"

namespace mt {
namespace {

using namespace index_test;

TEST(index_select, takes_rows) {
  device();
  Tensor x = tensor(counting(12), {3, 4});
  EXPECT_EQ(numbers(index_select(x, integers({2, -3, 2}), 0)),
            (Numbers{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(numbers(index_select(transpose(x), integers({1}), 0)), (Numbers{1, 5, 9}));
  EXPECT_EQ(index_select(x, integers({}), 1).shape(), (Shape{3, 0}));
  EXPECT_EQ(code_of([&] { index_select(x, integers({4}), -1); }), Code::index);
  EXPECT_EQ(code_of([&] { index_select(x, tensor({1e19}, {1}, Dtype::uint64), 0); }), Code::index);
  EXPECT_EQ(numbers(index_select(x, argmax(x, {0}), 0)).size(), 16u);
}

TEST(embedding, takes_rows_from_either_end) {
  Tensor weight = tensor(counting(6), {3, 2});
  EXPECT_EQ(numbers(embedding(tensor({0, -1, 2, -3}, {2, 2}, Dtype::int64), weight)),
            (Numbers{0, 1, 4, 5, 4, 5, 0, 1}));
  EXPECT_EQ(code_of([&] { embedding(integers({3}), weight); }), Code::index);
  EXPECT_EQ(code_of([&] { embedding(integers({-4}), weight); }), Code::index);
}

TEST(take_along_axis, picks_one_for_each_and_broadcasts) {
  Tensor x = tensor(counting(12), {3, 4});
  EXPECT_EQ(numbers(take_along_axis(x, tensor({1, 0, -1}, {3, 1}, Dtype::int64), 1)),
            (Numbers{1, 4, 11}));
  EXPECT_EQ(numbers(take_along_axis(x, tensor({2, 0}, {2, 1}, Dtype::int32), 0)),
            (Numbers{8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(code_of([&] { take_along_axis(x, integers({0}), 0); }), Code::shape);
  EXPECT_EQ(code_of([&] {
              take_along_axis(x, tensor({3}, {1, 1}, Dtype::int64), 0);
            }),
            Code::index);
}

TEST(scatter_add, adds_equal_positions) {
  Tensor x = tensor(Numbers(6, 1), {2, 3});
  Tensor where = tensor({0, 0, 2, 1, -1, 1}, {2, 3}, Dtype::int64);
  EXPECT_EQ(numbers(scatter_add(x, where, tensor(counting(6, 1), {2, 3}), 1)),
            (Numbers{4, 1, 4, 1, 11, 6}));
  Tensor rows = tensor({0, 1, 0}, {1, 3}, Dtype::int64);
  EXPECT_EQ(numbers(scatter_add(x, rows, tensor({5, 6, 7}, {1, 3}), 0)),
            (Numbers{6, 1, 8, 1, 7, 1}));
  EXPECT_EQ(code_of([&] { scatter_add(x, where, tensor({1}, {1}), 1); }), Code::shape);
  EXPECT_EQ(code_of([&] {
              scatter_add(x, where, tensor(counting(6), {2, 3}, Dtype::float64), 1);
            }),
            Code::dtype);
}

TEST(pick, every_way_of_running_agrees) {
  for (Dtype dtype : {Dtype::uint8, Dtype::int32, Dtype::float16, Dtype::float32, Dtype::float64}) {
    SCOPED_TRACE(name_of(dtype));
    for (int64_t axis : {0, 1, 2}) {
      Shape shape{20, 30, 40}, many = shape;
      many[static_cast<int>(axis)] = 50;
      int64_t count = element_count(many), size = shape[static_cast<int>(axis)];
      everywhere([&](const Make& make) {
        Tensor x = make(scattered(24000, 100), shape, dtype);
        Tensor i = make(scattered(count, size, 3), many, Dtype::int64);
        return take_along_axis(x, i, axis);
      });
      everywhere([&](const Make& make) {
        Tensor x = make(scattered(24000, 4), shape, dtype);
        Tensor i = make(scattered(count, size, 3), many, Dtype::int64);
        return scatter_add(x, i, make(scattered(count, 3, 8), many, dtype), axis);
      });
      everywhere([&](const Make& make) {  // one index for all that lies at a position of the axis
        Tensor x = make(scattered(24000, 4), shape, dtype);
        Shape line{1, 1, 1};
        line[static_cast<int>(axis)] = 50;
        Tensor i = expand(make(scattered(50, size, 3), line, Dtype::int64), many);
        return scatter_add(x, i, make(scattered(count, 3, 8), many, dtype), axis);
      });
    }
  }
}

// Rounding shows the order of the additions: it must be that of the indices, whatever the threads.
void check_order(int64_t rows, int64_t count, int64_t width) {
  Numbers where = scattered(count, rows, 9), values = scattered(count * width, 1000000);
  for (double& value : values) value = static_cast<float>(1 / (value + 1));
  auto run = [&](int threads) {
    cpu::set_thread_count(threads);
    Tensor dy = tensor(values, {count, width});
    Tensor x = tensor(Numbers(static_cast<size_t>(rows * width), 0), {rows, width});
    x->requires_gradient = true;
    x->variable = Ref<Variable>(new Variable);
    Numbers result = numbers(gradients({index_select(x, integers(where), 0)}, {dy}, {x})[0]);
    cpu::set_thread_count(0);
    return result;
  };
  std::vector<float> expected(static_cast<size_t>(rows * width), 0);
  for (int64_t i = 0; i < count * width; ++i) {
    int64_t row = static_cast<int64_t>(where[static_cast<size_t>(i / width)]);
    expected[static_cast<size_t>(row * width + i % width)] +=
        static_cast<float>(values[static_cast<size_t>(i)]);
  }
  Numbers one = run(1);
  EXPECT_EQ(one, Numbers(expected.begin(), expected.end()));
  EXPECT_EQ(one, run(2));
  EXPECT_EQ(one, run(5));
}

TEST(pick, sums_have_one_order) { check_order(100, 3000, 40); }
TEST(pick, sums_have_one_order_where_rows_are_dealt_out) { check_order(7000, 20000, 24); }

TEST(pick, rows_are_dealt_out_at_every_outer_position) {
  const Shape many{2, 5000, 4, 8};
  everywhere([&](const Make& make) {
    Tensor i = expand(make(scattered(5000, 9000, 3), {1, 5000, 1, 1}, Dtype::int64), many);
    Tensor values = make(scattered(320000, 100, 8), {2, 5000, 8, 4}, Dtype::int32);
    Tensor x = make(Numbers(576000, 1), {2, 9000, 4, 8}, Dtype::int32);
    return scatter_add(x, i, transpose(values), 1);
  });
}

TEST(pick, gradients) {
  Tensor i = tensor({1, 1, 0, 2, 0, 1}, {2, 3}, Dtype::int64);
  Numbers at_x = scattered(9, 9);
  check_gradient(at_x, {3, 3}, [&](const Tensor& x) { return take_along_axis(x, i, 0); });
  check_gradient({3, 4}, {2, 1}, [&](const Tensor& x) {
    return take_along_axis(x, tensor({0, 0, 0}, {1, 3}, Dtype::int64), 1);
  });
  check_gradient(at_x, {3, 3},
                 [&](const Tensor& x) { return scatter_add(x, i, slice(x, 0, 1, 2, 1), 0); });
  check_gradient(at_x, {3, 3}, [&](const Tensor& x) {
    return index_select(x, integers({2, 2, 0}), 1);
  });
  check_gradient(at_x, {3, 3}, [&](const Tensor& x) { return masked_select(x, x > 3.5); });
}

TEST(nonzero, positions_in_row_major_order) {
  Tensor x = tensor({0, 2, 0, 0, -1, 0.5}, {2, 3});
  EXPECT_EQ(numbers(nonzero(x)), (Numbers{0, 1, 1, 1, 1, 2}));
  EXPECT_EQ(nonzero(tensor({}, {0, 3})).shape(), (Shape{0, 2}));
  EXPECT_EQ(nonzero(tensor({5}, {})).shape(), (Shape{1, 0}));
  EXPECT_EQ(nonzero(tensor({0}, {})).shape(), (Shape{0, 0}));
  EXPECT_EQ(numbers(masked_select(x, tensor({1, 0, 1}, {3}, Dtype::boolean))),
            (Numbers{0, 0, 0, 0.5}));
  EXPECT_EQ(code_of([&] { masked_select(x, x); }), Code::dtype);
  everywhere([](const Make& make) {
    return nonzero(transpose(make(scattered(90000, 3), {300, 300}, Dtype::int16)));
  });
}

TEST(unique, values_and_the_rest) {
  Tensor x = tensor({3, 1, 3, 2, 1, 3}, {2, 3}, Dtype::int32);
  EXPECT_EQ(numbers(unique_values(x)), (Numbers{1, 2, 3}));
  Unique all = unique_all(x);
  EXPECT_EQ(numbers(all.values), (Numbers{1, 2, 3}));
  EXPECT_EQ(numbers(all.indices), (Numbers{1, 3, 0}));
  EXPECT_EQ(numbers(all.inverse_indices), (Numbers{2, 0, 2, 1, 0, 2}));
  EXPECT_EQ(all.inverse_indices.shape(), (Shape{2, 3}));
  EXPECT_EQ(numbers(all.counts), (Numbers{2, 1, 3}));
  EXPECT_EQ(unique_values(tensor({}, {0})).shape(), (Shape{0}));
  EXPECT_EQ(unique_all(tensor({}, {0})).counts.shape(), (Shape{0}));
  Numbers with_nan = numbers(unique_values(tensor({NAN, 1, NAN, 1}, {4})));
  EXPECT_EQ(with_nan.size(), 3u);
  everywhere([](const Make& make) {
    return unique_all(make(scattered(5000, 300), {50, 100}, Dtype::float32)).inverse_indices;
  });
}

}  // namespace
}  // namespace mt
