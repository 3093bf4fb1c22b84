// SPDX-License-Identifier: Apache-2.0
// Running sums and products.
#include <cmath>

#include "backends/cpu/parallel/parallel.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(cumulative_sum, values_types_and_gradient) {
  Tensor x = make({2, 3}, {1, 2, 3, 4, 5, 6}, Dtype::float32);
  EXPECT_EQ(read(cumulative_sum(x, 1)), (Numbers{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(read(cumulative_sum(x, 0)), (Numbers{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(cumulative_sum(cast(x, Dtype::boolean), 0).dtype(), Dtype::int64);
  EXPECT_EQ(cumulative_sum(cast(x, Dtype::uint8), 0).dtype(), Dtype::uint64);
  EXPECT_EQ(cumulative_sum(make({0, 2}, {}, Dtype::float32), 0).shape(), (Shape{0, 2}));
  EXPECT_EQ(code_of([&] { cumulative_sum(x, 2); }), Code::index);
  check_gradient(make({4, 3}, scattered(12, 9)),
                 [](const Tensor& x) { return cumulative_sum(x, 0); });
  // Whole numbers are exact in any order, and panels are crossed.
  for (Dtype dtype : {Dtype::int32, Dtype::float32, Dtype::float64, Dtype::boolean}) {
    everywhere([&](const Make& given) {
      return cumulative_sum(given({3, 10000}, scattered(30000, 7), dtype), 1);
    });
    for (int64_t columns : {1, 5, 31, 32, 33}) {
      everywhere([&](const Make& given) {
        return cumulative_sum(given({9000, columns}, scattered(9000 * columns, 7), dtype), 0);
      });
    }
    // Several lines at once, chains that end early, and panels in more than one helping.
    for (const Shape& shape :
         {Shape{2001, 30}, Shape{105, 100}, Shape{16, 511}, Shape{70, 700}, Shape{1, 1100000}}) {
      everywhere([&](const Make& given) {
        return cumulative_sum(given(shape, scattered(element_count(shape), 7), dtype), 1);
      });
    }
  }
}

TEST(cumulative_sum, one_order_for_any_threads) {
  constexpr int64_t length = 1 << 20;
  Numbers values = scattered(2 * length, 1000000);
  for (double& value : values) value = 1 / (value + 1);
  for (int axis : {0, 1}) {
    Shape shape = axis ? Shape{2, length} : Shape{length, 2};
    auto run = [&](int threads) {
      cpu::set_thread_count(threads);
      Numbers result = read(cumulative_sum(make(shape, values, Dtype::float32), axis));
      cpu::set_thread_count(0);
      return result;
    };
    Numbers one = run(1), many = run(7);
    EXPECT_EQ(one, many);
    double sum = 0;
    size_t step = axis ? 1 : 2, last = (length - 1) * step;
    for (size_t i = 0; i <= last; i += step) {
      sum += static_cast<float>(values[i]);
      ASSERT_NEAR(one[i], sum, 1e-6 * sum * 30);
      ASSERT_LE(i == 0 ? 0 : one[i - step], one[i]);  // as nothing negative is added
    }
  }
}

TEST(cumulative_prod, along_any_axis_of_any_dtype) {
  for (Dtype dtype : every_dtype) {
    if (dtype == Dtype::boolean) continue;
    for (int axis : {0, 1, 2}) {
      for (const Shape& shape : {Shape{4, 9, 150}, Shape{3, 2000, 1}, Shape{300, 1, 65}}) {
        everywhere([&](const Make& given) {
          Numbers values = scattered(element_count(shape), 9);
          for (double& value : values) value = is_floating(dtype) ? 0.8 + value / 20 : value - 3;
          return cumulative_prod(given(shape, values, dtype), axis);
        });
      }
    }
  }
}

}  // namespace
}  // namespace mt::testing
