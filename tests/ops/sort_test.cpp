// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "backends/cpu/sort/sorting.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(sort, order_and_stability) {
  Tensor x = make({6}, {3, NAN, 1, 3, -0.0, 0}, Dtype::float32);
  EXPECT_EQ(read(argsort(x, 0, false)), (Numbers{4, 5, 2, 0, 3, 1}));
  EXPECT_EQ(read(argsort(x, 0, true)), (Numbers{1, 0, 3, 2, 4, 5}));
  Tensor y = make({3, 2}, {2, 1, 0, 1, 5, 4}, Dtype::int8);
  EXPECT_EQ(read(sort(y, 0, false)), (Numbers{0, 1, 2, 1, 5, 4}));
  EXPECT_EQ(read(sort(y, 1, true)), (Numbers{2, 1, 1, 0, 5, 4}));
  EXPECT_EQ(read(sort(make({}, {7}, Dtype::float32), -1, false)), (Numbers{7}));
  EXPECT_EQ(sort(make({3, 0}, {}, Dtype::float32), 1, false).shape(), (Shape{3, 0}));
  EXPECT_EQ(code_of([&] { sort(x, 1, false); }), Code::index);
}

TEST(sort, every_dtype_agrees) {
  for (Dtype dtype : every_dtype) {
    for (bool descending : {false, true}) {
      SCOPED_TRACE(name_of(dtype));
      for (const Shape& shape : {Shape{7, 3000}, Shape{3000, 7}, Shape{400, 20}}) {
        everywhere([&](const Make& given) {
          return argsort(given(shape, special(element_count(shape)), dtype), 0, descending);
        });
        everywhere([&](const Make& given) {
          return sort(given(shape, special(element_count(shape)), dtype), 0, descending);
        });
      }
    }
  }
}

TEST(sort, long_rows_are_split) {
  for (Dtype dtype : {Dtype::float32, Dtype::int64, Dtype::int16, Dtype::uint8}) {
    everywhere([&](const Make& given) {
      return argsort(given({300001}, special(300001), dtype), 0, true);
    });
    everywhere(
        [&](const Make& given) { return sort(given({300001}, special(300001), dtype), 0, true); });
    everywhere([&](const Make& given) {  // at a pivot that none is below
      return argsort(given({300001}, Numbers(300001, 1), dtype), 0, false);
    });
    everywhere([&](const Make& given) {
      return sort(given({300001}, Numbers(300001, 1), dtype), 0, false);
    });
    everywhere([&](const Make& given) {
      return sort(given({300001}, scattered(300001, 3), dtype), 0, true);
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
      everywhere([&](const Make& given) {
        return argsort(given({length}, values, Dtype::float64), 0, descending);
      });
    }
  }
}

// Lengths that end a network's vector or begin another split, and orders that split badly.

TEST(sort, every_length_and_order) {
  for (Dtype dtype : {Dtype::uint32, Dtype::int32, Dtype::float32, Dtype::float64}) {
    for (int64_t length = 1; length < 20000; length += length < 600 ? 1 : 1237) {
      for (int order = 0; order < 5; ++order) {
        Numbers values = scattered(length, length + 1);
        if (order == 1) std::sort(values.begin(), values.end());
        if (order == 2) std::sort(values.begin(), values.end(), std::greater<double>());
        if (order == 3) values = scattered(length, 3);
        if (order == 4)
          std::rotate(values.begin(), std::min_element(values.begin(), values.end()), values.end());
        Tensor sorted = sort(make({length}, values, dtype), 0, false);
        std::sort(values.begin(), values.end());
        ASSERT_EQ(read(sorted), values) << name_of(dtype) << ", " << length << ", " << order;
      }
    }
  }
}

// Elements that sort as equal stay in order: the bits are those that the positions pick.

TEST(sort, zeros_and_nans_stay_in_order) {
  for (Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    for (bool descending : {false, true}) {
      for (int64_t length : {1, 3, 8, 9, 30, 4000, 300001}) {
        Numbers values = special(length);
        for (size_t i = 0; i < values.size(); i += 5) values[i] = std::copysign(values[i], -1);
        Tensor x = make({length}, values, dtype);
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
  Tensor x = make({5}, {3, 9, 1, 9, 4}, Dtype::float32);
  TopK best = topk(x, 3, 0, true);
  EXPECT_EQ(read(best.values), (Numbers{9, 9, 4}));
  EXPECT_EQ(read(best.indices), (Numbers{1, 3, 4}));
  EXPECT_EQ(read(topk(x, 2, -1, false).values), (Numbers{1, 3}));
  EXPECT_EQ(topk(x, 0, 0, true).values.shape(), (Shape{0}));
  EXPECT_EQ(code_of([&] { topk(x, 6, 0, true); }), Code::index);
  for (int64_t k : {1, 5, 16, 17, 400}) {
    for (Dtype dtype : every_dtype) {
      everywhere([&](const Make& given) {
        return topk(given({20, 500}, special(20 * 500), dtype), k, 1, k == 5).indices;
      });
    }
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int8}) {  // a row for all threads
      everywhere([&](const Make& given) {
        return topk(given({300001}, special(300001), dtype), k, 0, k == 5).indices;
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
        everywhere([&](const Make& given) {
          return argsort(given(shape, special(2 * length), dtype), 1, descending);
        });
        for (int64_t k : {1, 7, 80}) {
          everywhere([&](const Make& given) {
            return topk(given(shape, special(2 * length), dtype), k, 1, descending).indices;
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
      everywhere([&](const Make& given) {
        return topk(given({1000}, Numbers(1000, value), Dtype::float32), 9, 0, largest).indices;
      });
    }
  }
}

TEST(sort, gradients) {
  Numbers distinct{3, 1, 4, 9, 2, 6};
  check_gradient(make({2, 3}, distinct), [](const Tensor& x) { return sort(x, 1, true); });
  check_gradient(make({3, 2}, distinct),
                 [](const Tensor& x) { return topk(x, 2, 0, true).values; });
}

}  // namespace
}  // namespace mt::testing
