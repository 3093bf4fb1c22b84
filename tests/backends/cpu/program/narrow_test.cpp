// SPDX-License-Identifier: Apache-2.0
// Rows of a few scattered elements have the bits that the same rows have where they lie in order.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/elementwise/instruction_sets.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

// The sign of a NaN is nobody's promise.
std::vector<char> bits(const Tensor& x) {
  Tensor nan = full({}, std::nan(""), x.dtype(), x.device());
  Tensor whole = is_floating(x.dtype()) ? where(equal(x, x), x, nan) : copy(x);
  evaluate(whole);
  auto* data = static_cast<const char*>(whole->data());
  return {data, data + whole->bytes()};
}

// x [n, height, width] as [n, height / h, width / w, h, w].
Tensor windows(const Tensor& x, int64_t h, int64_t w) {
  const Shape& s = x.shape();
  return permute(reshape(x, {s[0], s[1] / h, h, s[2] / w, w}), {0, 1, 3, 2, 4});
}

using OfWindows = Tensor (*)(const Tensor& v);
const OfWindows functions[] = {
    [](const Tensor& v) {
      return max(v, {3, 4});
    },
    [](const Tensor& v) {
      return min(v, {3, 4});
    },
    [](const Tensor& v) {
      return sum(v, {3, 4});
    },
    [](const Tensor& v) {
      return prod(v, {3, 4});
    },
    [](const Tensor& v) {
      return sum(v * v + v, {3, 4});
    },
    [](const Tensor& v) {
      return max(v, {3, 4}) * 2.0 - sum(v, {3, 4});
    },
    [](const Tensor& v) {
      return sum(cast(equal(v, max(v, {3, 4}, true)), Dtype::float32), {3, 4});
    },
    [](const Tensor& v) {
      return sum(cast(v, Dtype::float64), {3, 4});
    },
    // What is stored of every element is turned back.
    [](const Tensor& v) {
      return v - max(v, {3, 4}, true);
    },
    [](const Tensor& v) {
      return equal(v, min(v, {3, 4}, true));
    },
    [](const Tensor& v) {
      Tensor e = exp(cast(v, Dtype::float32) * 0.01), weights = e / sum(e, {3, 4}, true);
      return cast(weights, Dtype::bfloat16);
    },
};

void check(const Tensor& x, int64_t h, int64_t w) {
  evaluate(x);
  Tensor scattered = windows(x, h, w), ordered = copy(scattered);
  evaluate(ordered);
  for (const OfWindows& f : functions) {
    ASSERT_EQ(bits(f(scattered)), bits(f(ordered))) << h << " x " << w << " " << name_of(x.dtype());
  }
}

TEST(Narrow, HasTheBitsOfRowsInOrder) {
  cpu::for_each_instruction_set([] {
    Tensor x = noise({3, 60, 84}, 1, Dtype::float32);
    for (auto [h, w] : {std::pair<int64_t, int64_t>{2, 2},
                        {3, 1},
                        {3, 3},
                        {2, 4},
                        {5, 3},
                        {4, 4},
                        {5, 4},
                        {60, 2},
                        {1, 4}}) {
      check(x, h, w);
    }
    for (Dtype dtype : {Dtype::float64, Dtype::float16, Dtype::bfloat16, Dtype::int32, Dtype::int64,
                        Dtype::uint8}) {
      check(cast(abs(x) * 100.0, dtype), 2, 2);
    }
  });
}

TEST(Narrow, KeepsZerosAndNaN) {
  const double nan = std::nan(""), endless = std::numeric_limits<double>::infinity();
  std::vector<double> numbers(4 * 32 * 32, -0.0);
  for (size_t i = 0; i < numbers.size(); i += 7) numbers[i] = i % 2 ? nan : 0.0;
  for (size_t i = 0; i < numbers.size(); i += 31) numbers[i] = i % 2 ? endless : -endless;
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    cpu::for_each_instruction_set([&] {
      Tensor x = make({4, 32, 32}, numbers, dtype);
      check(x, 2, 2);
      check(x, 4, 2);
    });
  }
}

// An operand that lies in order is turned like the others, also where it is converted on the way.
TEST(Narrow, MixesWithRowsInOrder) {
  Tensor x = noise({3, 60, 84}, 1, Dtype::float32), scattered = windows(x, 2, 2);
  for (Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::uint8, Dtype::int16}) {
    Tensor ordered = cast(noise(scattered.shape(), 2, Dtype::float32) * 9.0, dtype);
    evaluate(ordered);
    auto result = [&](const Tensor& other) {
      return max(cast(ordered, Dtype::float32) + other, {3, 4});
    };
    Tensor copied = copy(scattered);
    evaluate(copied);
    EXPECT_EQ(bits(result(scattered)), bits(result(copied))) << name_of(dtype);
  }
}

// The next tile of what no cache holds is fetched while one is computed.
TEST(Narrow, LargeRowsHaveTheBitsOfRowsInOrder) {
  cpu::for_each_instruction_set([] {
    for (const Shape& shape : {Shape{3, 21, 150, 121}, Shape{1, 12, 50, 1500}}) {
      const Tensor x = noise(shape, 1, Dtype::float32), inner = slice(x, 3, 1, shape[3] - 1, 1);
      evaluate(x);
      for (const Tensor& v : {x, inner}) {
        const Tensor ordered = copy(move_axis(v, 1, -1));
        evaluate(ordered);
        const Tensor weights = move_axis(softmax(v, 1), 1, -1);
        EXPECT_EQ(bits(copy(weights)), bits(softmax(ordered, -1)));
      }
    }
  });
}

// A few rows are not turned.
TEST(Narrow, ShortRowsHaveTheBitsOfAFew) {
  cpu::for_each_instruction_set([] {
    constexpr int64_t few = 20;
    for (int64_t columns = 2; columns < 10; ++columns) {
      for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::int8}) {
        Tensor x = cast(noise({1100, columns}, 1, Dtype::float32) * 4.0, dtype);
        Tensor first = copy(slice(x, 0, 0, few, 1));
        evaluate(x);
        evaluate(first);
        const auto sums = [](const Tensor& t) { return sum(t, {1}); };
        const auto weights = [](const Tensor& t) {
          return is_floating(t.dtype()) ? softmax(t, 1) : t - max(t, {1}, true);
        };
        auto of_few = [&](const Tensor& all) { return bits(copy(slice(all, 0, 0, few, 1))); };
        EXPECT_EQ(of_few(sums(x)), bits(sums(first))) << columns << " " << name_of(dtype);
        EXPECT_EQ(of_few(weights(x)), bits(weights(first))) << columns << " " << name_of(dtype);
      }
    }
  });
}

}  // namespace
}  // namespace mt::testing
