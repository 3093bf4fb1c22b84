// SPDX-License-Identifier: Apache-2.0
// Rows by their indices, and what is added to them.
#include "autodiff/backward.h"
#include "backends/cpu/parallel/parallel.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(index_select, takes_rows) {
  Tensor x = make({3, 4}, counting(12), Dtype::float32);
  EXPECT_EQ(read(index_select(x, integers({2, -3, 2}), 0)),
            (Numbers{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(read(index_select(transpose(x), integers({1}), 0)), (Numbers{1, 5, 9}));
  EXPECT_EQ(index_select(x, integers({}), 1).shape(), (Shape{3, 0}));
  EXPECT_EQ(code_of([&] { index_select(x, integers({4}), -1); }), Code::index);
  EXPECT_EQ(code_of([&] { index_select(x, make({1}, {1e19}, Dtype::uint64), 0); }), Code::index);
  EXPECT_EQ(read(index_select(x, argmax(x, {0}), 0)).size(), 16u);
}

TEST(embedding, takes_rows_by_their_number) {
  Tensor weight = make({3, 2}, counting(6), Dtype::float32);
  EXPECT_EQ(read(embedding(make({2, 2}, {0, 2, 2, 0}, Dtype::int64), weight)),
            (Numbers{0, 1, 4, 5, 4, 5, 0, 1}));
  EXPECT_EQ(code_of([&] { embedding(integers({3}), weight); }), Code::index);
  EXPECT_EQ(code_of([&] { embedding(integers({-1}), weight); }), Code::index);
}

// Rounding shows the order of the additions: it must be that of the indices, whatever the threads.
void check_order(int64_t rows, int64_t count, int64_t width) {
  Numbers where = scattered(count, rows, 9), values = scattered(count * width, 1000000);
  for (double& value : values) value = static_cast<float>(1 / (value + 1));
  auto run = [&](int threads) {
    cpu::set_thread_count(threads);
    Tensor dy = make({count, width}, values, Dtype::float32);
    Tensor x = make({rows, width}, Numbers(static_cast<size_t>(rows * width), 0), Dtype::float32);
    require_gradient(x);
    Numbers result = read(gradients({index_select(x, integers(where), 0)}, {dy}, {x})[0]);
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

TEST(index_select, sums_have_one_order) { check_order(100, 3000, 40); }

TEST(index_select, sums_of_single_elements_have_one_order) {
  check_order(100, 3000, 1);
  check_order(60000, 200000, 1);
}

TEST(index_select, sums_have_one_order_where_rows_are_dealt_out) { check_order(7000, 20000, 24); }

TEST(index_select, gradients) {
  check_gradient(make({3, 3}, scattered(9, 9)), [&](const Tensor& x) {
    return index_select(x, integers({2, 2, 0}), 1);
  });
}

}  // namespace
}  // namespace mt::testing
