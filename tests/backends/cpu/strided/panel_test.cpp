// SPDX-License-Identifier: Apache-2.0
// Operands that are read in panels have the values of a contiguous copy made element by element.
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

template <class T>
std::vector<T> elements(const Tensor& x) {
  Tensor whole = copy(x);
  evaluate(whole);
  auto* data = static_cast<const T*>(whole->data());
  return {data, data + x.size()};
}

// x with its last two axes exchanged, element by element.
template <class T>
std::vector<T> exchanged(const Tensor& x) {
  std::vector<T> from = elements<T>(x), to(from.size());
  int64_t rows = x.shape()[x.rank() - 2], columns = x.shape()[x.rank() - 1];
  int64_t matrix = rows * columns;
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t row = i % matrix / columns, column = i % columns;
    to[static_cast<size_t>(i / matrix * matrix + column * rows + row)] =
        from[static_cast<size_t>(i)];
  }
  return to;
}

TEST(Panels, CopyATranspose) {
  for (const Shape& shape : {Shape{16, 16}, Shape{15, 40}, Shape{40, 15}, Shape{17, 530},
                             Shape{530, 17}, Shape{600, 700}, Shape{3, 33, 47}, Shape{6501, 350}}) {
    Tensor x = noise(shape, 1, Dtype::float32);
    Tensor t = transpose(x);
    EXPECT_EQ(elements<float>(t), exchanged<float>(x));
    Tensor wide = cast(x, Dtype::float64);
    EXPECT_EQ(elements<double>(transpose(wide)), exchanged<double>(wide));
    Tensor half = cast(x, Dtype::float16);
    EXPECT_EQ(elements<uint16_t>(transpose(half)), exchanged<uint16_t>(half));
    Tensor positive = x > 0.0;
    EXPECT_EQ(elements<uint8_t>(transpose(positive)), exchanged<uint8_t>(positive));
  }
}

// Rows that are no dimension's neighbours: all that follows the one that lies in order.
TEST(Panels, ReverseTheAxes) {
  for (const Shape& shape :
       {Shape{20, 17, 33}, Shape{3, 70, 40, 19}, Shape{2, 9, 5, 16}, Shape{230, 16, 32, 19}}) {
    Tensor x = noise(shape, 1, Dtype::float32);
    Dims order;
    for (int d = shape.rank() - 1; d >= 0; --d) order.push_back(d);
    Tensor y = permute(x, order);
    std::vector<float> from = elements<float>(x), expected;
    Layout layout = contiguous_layout(shape);
    for (int64_t i = 0; i < x.size(); ++i) {
      int64_t left = i, position = 0;
      for (int d = 0; d < shape.rank(); ++d) {
        position += left % shape[d] * layout.strides[d];
        left /= shape[d];
      }
      expected.push_back(from[static_cast<size_t>(position)]);
    }
    EXPECT_EQ(elements<float>(y), expected) << to_string(shape);
    EXPECT_EQ(elements<float>(y + 1.0), elements<float>(copy(y) + 1.0)) << to_string(shape);
  }
}

// To the bits that a contiguous copy gives.
TEST(Panels, AreReduced) {
  for (const Shape& shape :
       {Shape{200, 500}, Shape{700, 33}, Shape{16, 9000}, Shape{3, 200, 90}, Shape{2, 70, 300}}) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::uint8}) {
      Tensor x = cast(abs(noise(shape, 1, Dtype::float32)) * 9.0, dtype);
      evaluate(x);
      Tensor y = transpose(x), whole = copy(y);
      evaluate(whole);
      for (int first = 0; first < shape.rank(); ++first) {
        Dims axes;
        for (int last = first; last < shape.rank(); ++last) {
          axes.push_back(last);
          auto both_ways = [&](auto&& reduce) {
            return std::pair(elements<float>(cast(reduce(y), Dtype::float32)),
                             elements<float>(cast(reduce(whole), Dtype::float32)));
          };
          auto [sums, expected_sums] = both_ways([&](const Tensor& t) { return sum(t, axes); });
          EXPECT_EQ(sums, expected_sums) << to_string(shape);
          auto [more, expected_more] =
              both_ways([&](const Tensor& t) { return sum(t * t + 1.0, axes); });
          EXPECT_EQ(more, expected_more) << to_string(shape);
        }
      }
    }
  }
}

TEST(Panels, AreOneOfSeveralOperands) {
  Tensor x = noise({70, 600}, 1, Dtype::float32), y = noise({600, 70}, 2, Dtype::float32);
  Tensor half = cast(x, Dtype::float16);
  std::vector<float> a = exchanged<float>(x), b = elements<float>(y);
  std::vector<float> h = exchanged<float>(cast(half, Dtype::float32));
  std::vector<float> sum = elements<float>(transpose(x) + y * 2.0);
  std::vector<float> mixed = elements<float>(cast(transpose(half), Dtype::float32) - transpose(x));
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(sum[i], a[i] + b[i] * 2.0f);
    EXPECT_EQ(mixed[i], h[i] - a[i]);
  }
}

// Where all large operands are the same transpose, the result is turned instead of them.
TEST(Panels, AreWrittenWhereOperandsAreAlike) {
  for (const Shape& shape : {Shape{16, 16}, Shape{40, 17}, Shape{530, 70}, Shape{70, 530},
                             Shape{3, 33, 140}, Shape{5, 300, 21}, Shape{4100, 2100}}) {
    Shape row = shape;
    row[shape.rank() - 1] = 1;
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::uint8}) {
      if (shape[0] > 4000 && dtype != Dtype::uint8) continue;  // large enough for bytes alone
      auto operand = [&](const Shape& of, int seed) {
        Tensor x = cast(noise(of, static_cast<uint64_t>(seed), Dtype::float32) * 20.0, dtype);
        evaluate(x);
        return x;
      };
      Tensor x = operand(shape, 1), y = operand(shape, 2), z = operand(row, 3);
      auto of = [](const Tensor& a, const Tensor& b, const Tensor& c) { return a * b + c; };
      Tensor sum = of(transpose(x), transpose(y), transpose(z));
      Tensor smaller = less(transpose(x), transpose(y));
      Tensor whole = of(x, y, z), truth = less(x, y);
      for (const Tensor& t : {sum, smaller, whole, truth}) evaluate(t);
      EXPECT_EQ(elements<uint8_t>(smaller), exchanged<uint8_t>(truth));
      switch (size_of(dtype)) {
        case 1: EXPECT_EQ(elements<uint8_t>(sum), exchanged<uint8_t>(whole)); break;
        case 2: EXPECT_EQ(elements<uint16_t>(sum), exchanged<uint16_t>(whole)); break;
        case 4: EXPECT_EQ(elements<uint32_t>(sum), exchanged<uint32_t>(whole)); break;
        default: EXPECT_EQ(elements<uint64_t>(sum), exchanged<uint64_t>(whole)); break;
      }
    }
  }
}

}  // namespace
}  // namespace mt::testing
