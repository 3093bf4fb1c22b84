// SPDX-License-Identifier: Apache-2.0
// Sorting, extremes, running sums.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "backends/cpu/sort/sorting.h"
#include "ops/index_support.h"

namespace mt {
namespace {

using namespace index_test;

const Dtype every_dtype[] = {Dtype::boolean, Dtype::uint8,   Dtype::uint16,   Dtype::uint32,
                             Dtype::uint64,  Dtype::int8,    Dtype::int16,    Dtype::int32,
                             Dtype::int64,   Dtype::float16, Dtype::bfloat16, Dtype::float32,
                             Dtype::float64};

Numbers special(int64_t count) {
  const double denormal[] = {5e-324, 1e-310, 3e-42, 6e-8};  // of float64, float32 and float16
  Numbers values = scattered(count, 200);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] -= 100;
    if (i % 37 == 5) values[i] = NAN;
    if (i % 53 == 7) values[i] = i % 2 ? INFINITY : -INFINITY;
    if (i % 11 == 3) values[i] = i % 2 ? -0.0 : 0.0;
    if (i % 41 == 9) values[i] = (i % 2 ? -1 : 1) * denormal[i % 4];
  }
  return values;
}

TEST(sort, order_and_stability) {
  device();
  Tensor x = tensor({3, NAN, 1, 3, -0.0, 0}, {6});
  EXPECT_EQ(numbers(argsort(x, 0, false)), (Numbers{4, 5, 2, 0, 3, 1}));
  EXPECT_EQ(numbers(argsort(x, 0, true)), (Numbers{1, 0, 3, 2, 4, 5}));
  Tensor y = tensor({2, 1, 0, 1, 5, 4}, {3, 2}, Dtype::int8);
  EXPECT_EQ(numbers(sort(y, 0, false)), (Numbers{0, 1, 2, 1, 5, 4}));
  EXPECT_EQ(numbers(sort(y, 1, true)), (Numbers{2, 1, 1, 0, 5, 4}));
  EXPECT_EQ(numbers(sort(tensor({7}, {}), -1, false)), (Numbers{7}));
  EXPECT_EQ(sort(tensor({}, {3, 0}), 1, false).shape(), (Shape{3, 0}));
  EXPECT_EQ(code_of([&] { sort(x, 1, false); }), Code::index);
}

TEST(sort, every_dtype_agrees) {
  for (Dtype dtype : every_dtype) {
    for (bool descending : {false, true}) {
      SCOPED_TRACE(name_of(dtype));
      for (const Shape& shape : {Shape{7, 3000}, Shape{3000, 7}, Shape{400, 20}}) {
        everywhere([&](const Make& make) {
          return argsort(make(special(element_count(shape)), shape, dtype), 0, descending);
        });
        everywhere([&](const Make& make) {
          return sort(make(special(element_count(shape)), shape, dtype), 0, descending);
        });
      }
    }
  }
}

TEST(searchsorted, every_dtype_agrees) {
  for (Dtype dtype : every_dtype) {
    for (bool right : {false, true}) {
      for (int64_t length : {0, 1, 2, 3, 8, 300}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::to_string(length));
        everywhere([&](const Make& make) {
          Tensor sorted = sort(make(special(length), {length}, dtype), 0, false);
          return searchsorted(sorted, make(special(50 * 51), {50, 51}, dtype), right);
        });
      }
    }
  }
  EXPECT_EQ(
      numbers(searchsorted(tensor({-0.0, 1, 1, NAN}, {4}), tensor({0, 1, 2, NAN}, {4}), true)),
      (Numbers{1, 3, 3, 4}));
}

TEST(sort, long_rows_are_split) {
  for (Dtype dtype : {Dtype::float32, Dtype::int64, Dtype::int16, Dtype::uint8}) {
    everywhere(
        [&](const Make& make) { return argsort(make(special(300001), {300001}, dtype), 0, true); });
    everywhere(
        [&](const Make& make) { return sort(make(special(300001), {300001}, dtype), 0, true); });
    everywhere([&](const Make& make) {  // at a pivot that none is below
      return argsort(make(Numbers(300001, 1), {300001}, dtype), 0, false);
    });
    everywhere([&](const Make& make) {
      return sort(make(Numbers(300001, 1), {300001}, dtype), 0, false);
    });
    everywhere([&](const Make& make) {
      return sort(make(scattered(300001, 3), {300001}, dtype), 0, true);
    });
  }
}

// What is told apart by the last bits of 64 alone, beside numbers that are far away.
TEST(sort, long_keys_that_nearly_agree) {
  for (int64_t length : {2, 700, 5000, 300001}) {
    Numbers values = scattered(length, 3 * length);
    for (double& value : values) value = 1 + value * 0x1p-52;
    values[0] = 1e300;
    values[1] = -1e300;
    for (bool descending : {false, true}) {
      everywhere([&](const Make& make) {
        return argsort(make(values, {length}, Dtype::float64), 0, descending);
      });
    }
  }
}

// Lengths that end a network's vector or begin another split, and orders that split badly.
TEST(sort, every_length_and_order) {
  device();
  for (Dtype dtype : {Dtype::uint32, Dtype::int32, Dtype::float32, Dtype::float64}) {
    for (int64_t length = 1; length < 20000; length += length < 600 ? 1 : 1237) {
      for (int order = 0; order < 5; ++order) {
        Numbers values = scattered(length, length + 1);
        if (order == 1) std::sort(values.begin(), values.end());
        if (order == 2) std::sort(values.begin(), values.end(), std::greater<double>());
        if (order == 3) values = scattered(length, 3);
        if (order == 4)
          std::rotate(values.begin(), std::min_element(values.begin(), values.end()), values.end());
        Tensor sorted = sort(tensor(values, {length}, dtype), 0, false);
        std::sort(values.begin(), values.end());
        ASSERT_EQ(numbers(sorted), values) << name_of(dtype) << ", " << length << ", " << order;
      }
    }
  }
}

// Elements that sort as equal stay in order: the bits are those that the positions pick.
TEST(sort, zeros_and_nans_stay_in_order) {
  for (Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    for (bool descending : {false, true}) {
      for (int64_t length : {1, 30, 4000, 300001}) {
        Numbers values = special(length);
        for (size_t i = 0; i < values.size(); i += 5) values[i] = std::copysign(values[i], -1);
        Tensor x = tensor(values, {length}, dtype);
        Tensor sorted = sort(x, 0, descending);
        Tensor picked = take_along_axis(x, argsort(x, 0, descending), 0);
        evaluate(sorted);
        evaluate(picked);
        size_t bytes = static_cast<size_t>(length) * size_of(dtype);
        EXPECT_EQ(std::memcmp(sorted->data(), picked->data(), bytes), 0) << name_of(dtype);
      }
    }
  }
}

TEST(sort, topk) {
  Tensor x = tensor({3, 9, 1, 9, 4}, {5});
  TopK best = topk(x, 3, 0, true);
  EXPECT_EQ(numbers(best.values), (Numbers{9, 9, 4}));
  EXPECT_EQ(numbers(best.indices), (Numbers{1, 3, 4}));
  EXPECT_EQ(numbers(topk(x, 2, -1, false).values), (Numbers{1, 3}));
  EXPECT_EQ(topk(x, 0, 0, true).values.shape(), (Shape{0}));
  EXPECT_EQ(code_of([&] { topk(x, 6, 0, true); }), Code::index);
  for (int64_t k : {1, 5, 16, 17, 400}) {
    for (Dtype dtype : every_dtype) {
      everywhere([&](const Make& make) {
        return topk(make(special(20 * 500), {20, 500}, dtype), k, 1, k == 5).indices;
      });
    }
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int8}) {  // a row for all threads
      everywhere([&](const Make& make) {
        return topk(make(special(300001), {300001}, dtype), k, 0, k == 5).indices;
      });
    }
  }
}

// As in rows that are longer than 32 bits count: those whose positions do not fit beside a key.
TEST(sort, positions_of_more_than_32_bits) {
  const int64_t longest = std::exchange(cpu::longest_of_32_bits, 99);
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int64, Dtype::uint8}) {
    for (int64_t length : {98, 99, 100, 3000}) {
      for (bool descending : {false, true}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::to_string(length));
        const Shape shape{2, length};
        everywhere([&](const Make& make) {
          return argsort(make(special(2 * length), shape, dtype), 1, descending);
        });
        for (int64_t k : {1, 7, 80}) {
          everywhere([&](const Make& make) {
            return topk(make(special(2 * length), shape, dtype), k, 1, descending).indices;
          });
        }
      }
    }
  }
  cpu::longest_of_32_bits = longest;
}

TEST(sort, topk_of_equal_elements) {
  for (double value : {0.0, double(INFINITY), -double(INFINITY), double(NAN)}) {
    for (bool largest : {false, true}) {
      everywhere([&](const Make& make) {
        return topk(make(Numbers(1000, value), {1000}, Dtype::float32), 9, 0, largest).indices;
      });
    }
  }
}

TEST(sort, gradients) {
  Numbers distinct{3, 1, 4, 9, 2, 6};
  check_gradient(distinct, {2, 3}, [](const Tensor& x) { return sort(x, 1, true); });
  check_gradient(distinct, {3, 2}, [](const Tensor& x) { return topk(x, 2, 0, true).values; });
}

TEST(argmax, the_first_extreme_and_nan) {
  Tensor x = tensor({1, 5, 5, 0, 0, 2}, {2, 3});
  EXPECT_EQ(numbers(argmax(x, {1})), (Numbers{1, 2}));
  EXPECT_EQ(numbers(argmin(x, {1})), (Numbers{0, 0}));
  EXPECT_EQ(numbers(argmax(x)), (Numbers{1}));
  EXPECT_EQ(argmax(x, {0}, true).shape(), (Shape{1, 3}));
  EXPECT_EQ(argmax(x).dtype(), Dtype::int64);
  EXPECT_EQ(numbers(argmax(tensor({1, NAN, NAN}, {3}))), (Numbers{1}));
  EXPECT_EQ(numbers(argmin(tensor({1, NAN, -INFINITY}, {3}))), (Numbers{1}));
  EXPECT_EQ(numbers(argmax(tensor({4}, {}))), (Numbers{0}));
  EXPECT_EQ(code_of([&] { argmax(tensor({}, {2, 0}), {1}); }), Code::invalid);
  EXPECT_EQ(argmax(tensor({}, {2, 0}), {0}).shape(), (Shape{0}));
}

TEST(argmax, every_dtype_agrees) {
  for (Dtype dtype : every_dtype) {
    SCOPED_TRACE(name_of(dtype));
    for (const Dims& axes : {Dims{0}, Dims{1}, Dims{2}, Dims{0, 2}, Dims{}}) {
      everywhere([&](const Make& make) {
        Tensor x = make(special(30 * 40 * 50), {30, 40, 50}, dtype);
        return stack({argmax(x, axes), argmin(x, axes)}, 0);
      });
    }
    everywhere([&](const Make& make) {
      Numbers values = scattered(100000, 90);
      return stack({argmax(make(values, {100000}, dtype)), argmin(make(values, {100000}, dtype))},
                   0);
    });
  }
}

TEST(any, truth_over_axes) {
  Tensor x = tensor({0, 0, 3, NAN, 1, 2}, {2, 3});
  EXPECT_EQ(numbers(any(x, {1})), (Numbers{1, 1}));
  EXPECT_EQ(numbers(all(x, {1})), (Numbers{0, 1}));
  EXPECT_EQ(numbers(any(x, {0}, true)), (Numbers{1, 1, 1}));
  EXPECT_EQ(numbers(all(x)), (Numbers{0}));
  EXPECT_EQ(any(x).dtype(), Dtype::boolean);
  EXPECT_EQ(numbers(any(tensor({}, {2, 0}), {1})), (Numbers{0, 0}));
  EXPECT_EQ(numbers(all(tensor({}, {2, 0}), {1})), (Numbers{1, 1}));
  EXPECT_EQ(numbers(all(tensor({7}, {}))), (Numbers{1}));
  everywhere([](const Make& make) {
    Tensor mask = make(scattered(300 * 70, 3), {300, 70}, Dtype::boolean);
    return concat({any(mask, {1}), all(mask, {1}), any(mask, {0}), all(mask, {0})}, 0);
  });
}

TEST(cumulative_prod, along_any_axis_of_any_dtype) {
  for (Dtype dtype : every_dtype) {
    if (dtype == Dtype::boolean) continue;
    for (int axis : {0, 1, 2}) {
      for (const Shape& shape : {Shape{4, 9, 150}, Shape{3, 2000, 1}, Shape{300, 1, 65}}) {
        everywhere([&](const Make& make) {
          Numbers values = scattered(element_count(shape), 9);
          for (double& value : values) value = is_floating(dtype) ? 0.8 + value / 20 : value - 3;
          return cumulative_prod(make(values, shape, dtype), axis);
        });
      }
    }
  }
}

TEST(cumulative_sum, values_types_and_gradient) {
  Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(numbers(cumulative_sum(x, 1)), (Numbers{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(numbers(cumulative_sum(x, 0)), (Numbers{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(cumulative_sum(cast(x, Dtype::boolean), 0).dtype(), Dtype::int64);
  EXPECT_EQ(cumulative_sum(cast(x, Dtype::uint8), 0).dtype(), Dtype::uint64);
  EXPECT_EQ(cumulative_sum(tensor({}, {0, 2}), 0).shape(), (Shape{0, 2}));
  EXPECT_EQ(code_of([&] { cumulative_sum(x, 2); }), Code::index);
  check_gradient(scattered(12, 9), {4, 3}, [](const Tensor& x) { return cumulative_sum(x, 0); });
  // Whole numbers are exact in any order, and panels are crossed.
  for (Dtype dtype : {Dtype::int32, Dtype::float32, Dtype::float64, Dtype::boolean}) {
    everywhere([&](const Make& make) {
      return cumulative_sum(make(scattered(30000, 7), {3, 10000}, dtype), 1);
    });
    everywhere([&](const Make& make) {
      return cumulative_sum(make(scattered(45000, 7), {9000, 5}, dtype), 0);
    });
    // Several lines at once, chains that end early, and panels in more than one helping.
    for (const Shape& shape : {Shape{2001, 30}, Shape{70, 700}, Shape{1, 1100000}}) {
      everywhere([&](const Make& make) {
        return cumulative_sum(make(scattered(element_count(shape), 7), shape, dtype), 1);
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
      Numbers result = numbers(cumulative_sum(tensor(values, shape), axis));
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

}  // namespace
}  // namespace mt
