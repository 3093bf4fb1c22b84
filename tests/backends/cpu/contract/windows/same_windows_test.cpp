// SPDX-License-Identifier: Apache-2.0
// The gradient of a depthwise convolution's weight has the bits that it has over a padded copy.
#include "backends/cpu/contract/windows/same_windows.h"

#include <gtest/gtest.h>

#include <limits>

#include "autodiff/backward.h"
#include "backends/cpu/contract/bits.h"
#include "backends/cpu/contract/contract_check.h"
#include "backends/cpu/parallel/parallel.h"
#include "fusion/evaluator.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::cpu {
namespace {

// Whether that is how windows over a channel of images, with a border of zeros, are read, that move
// by `step`; with so many images of zeros in front and behind.
bool found(int64_t images, int64_t height, int64_t width, int64_t side, int64_t step = 1,
           int64_t front = 0, int64_t behind = 0) {
  const int64_t channels = 5, border = side / 2, line = width + 2 * border;
  const int64_t plane = (height + 2 * border) * line, down = (height - 1) / step + 1,
                across = (width - 1) / step + 1;
  const Contraction c{
      {{channels, down * across, plane}},
      {{1, down * across, 0}},
      {{side, 0, line}, {side, 0, 1}},
      {{images, channels * down * across, plane}, {down, across, step * line}, {across, 1, step}},
      Dtype::float32,
      Dtype::float32,
      Dtype::float32};
  Layout from = contiguous_layout({images, channels, height, width});
  from.shape[1] = 1;
  const Layout whole = contiguous_layout({front + images + behind, 1, height + 2 * border, line});
  Layout to = slice(slice(whole, 2, border, height, 1), 3, border, width, 1);
  to = slice(to, 0, front, images, 1);
  const EntryParts parts{from, to, element_count(whole.shape)};
  return static_cast<bool>(find_same_windows(operand_a(c), operand_b(c), &parts));
}

TEST(SameWindows, AreThoseThatHaveKernels) {
  EXPECT_TRUE(found(32, 56, 56, 3));
  EXPECT_TRUE(found(1, 16, 5, 3));
  EXPECT_TRUE(found(32, 14, 14, 3));
  EXPECT_TRUE(found(8, 7, 7, 3));
  EXPECT_TRUE(found(32, 16, 65, 3));
  EXPECT_TRUE(found(32, 14, 14, 5));
  EXPECT_FALSE(found(32, 14, 32, 7));  // slower
  EXPECT_TRUE(found(8, 7, 7, 7));
  EXPECT_FALSE(found(8, 28, 28, 9));
  EXPECT_TRUE(found(8, 28, 28, 3, 2));
  EXPECT_TRUE(found(8, 7, 9, 3, 2));
  EXPECT_TRUE(found(8, 28, 28, 5, 2));
  EXPECT_FALSE(found(8, 28, 28, 7, 2));
  EXPECT_FALSE(found(8, 28, 28, 3, 3));
  EXPECT_FALSE(found(2, 16, 1025, 3));  // too many masks
  EXPECT_FALSE(found(3, 16, 16, 3, 1, 1));
  EXPECT_FALSE(found(3, 16, 16, 3, 1, 1, 1));
}

Tensor weight_gradient(const Tensor& x, const Dims& padding, const Dims& strides,
                       const Tensor& weight, const Tensor& dy) {
  Tensor parameter = testing::leaf(weight);
  const Convolution how{strides, padding, {1, 1}, {0, 0}, x.shape()[1]};
  Tensor y = convolution(x, parameter, nullptr, how);
  return gradients({y}, {dy}, {parameter})[0];
}

// With padding that windows of so many lines and columns read, beside an image that has it.
void expect_bits_of_padded(const Shape& shape, const Dims& window, const Dims& padding,
                           int64_t stride) {
  const double endless = std::numeric_limits<double>::infinity();
  Tensor x = testing::noise(shape, 1, Dtype::float32);
  Tensor weight = testing::noise({shape[1], 1, window[0], window[1]}, 2, Dtype::float32);
  Tensor padded = pad(x, {0, 0, padding[0], padding[1]}, {0, 0, padding[0], padding[1]}, 0);
  const Dims strides{stride, stride};
  const Shape result{shape[0], shape[1], (padded.shape()[2] - window[0]) / stride + 1,
                     (padded.shape()[3] - window[1]) / stride + 1};
  Tensor dy = testing::noise(result, 3, Dtype::float32);
  Tensor infinite = where(greater(dy, testing::make({}, {0.97}, Dtype::float32)),
                          full(result, endless, Dtype::float32, x.device()), dy);
  for (const Tensor& t : {x, weight, dy, infinite, padded}) evaluate(t);
  for (const Tensor& each : {dy, infinite}) {
    const auto expected = bits(weight_gradient(padded, {0, 0}, strides, weight, each));
    for (int threads : {1, 3}) {
      set_thread_count(threads);
      on_every_target([&](const char* target) {
        EXPECT_EQ(bits(weight_gradient(x, padding, strides, weight, each)), expected)
            << target << " " << to_string(shape) << ", windows of " << window[0] << " x "
            << window[1] << " by " << stride;
      });
    }
    set_thread_count(0);
  }
}

TEST(SameWindows, HaveTheBitsOfAPaddedCopy) {
  install_fusing_evaluator();
  for (const Shape& shape : {Shape{3, 4, 16, 16},
                             {1, 3, 20, 24},
                             {2, 5, 16, 33},
                             {7, 3, 2, 8},
                             {3, 3, 16, 1},
                             {40, 2, 12, 12},
                             {2, 3, 7, 9},
                             {9, 3, 7, 7},
                             {50, 2, 14, 14},
                             {70, 2, 1, 1},
                             {30, 2, 2, 3},
                             {3, 2, 41, 43},
                             {1, 2, 80, 64}}) {
    expect_bits_of_padded(shape, {3, 3}, {1, 1}, 1);
    expect_bits_of_padded(shape, {3, 3}, {1, 1}, 2);
    expect_bits_of_padded(shape, {5, 5}, {2, 2}, 1);
    expect_bits_of_padded(shape, {5, 5}, {2, 2}, 2);
    expect_bits_of_padded(shape, {7, 7}, {3, 3}, 1);
  }
}

TEST(SameWindows, OfUnequalSidesHaveTheirBits) {
  install_fusing_evaluator();
  for (const Shape& shape : {Shape{9, 3, 14, 13}, {2, 2, 31, 40}}) {
    expect_bits_of_padded(shape, {3, 5}, {1, 2}, 1);
    expect_bits_of_padded(shape, {2, 5}, {1, 2}, 1);  // more lines of positions than the image's
    expect_bits_of_padded(shape, {7, 5}, {2, 2}, 1);  // fewer
    expect_bits_of_padded(shape, {1, 7}, {1, 3}, 1);
    expect_bits_of_padded(shape, {4, 5}, {3, 2}, 2);
    expect_bits_of_padded(shape, {3, 3}, {1, 2}, 2);
    expect_bits_of_padded(shape, {3, 3}, {2, 0}, 2);
    expect_bits_of_padded(shape, {5, 5}, {1, 1}, 2);
    expect_bits_of_padded(shape, {5, 5}, {4, 4}, 2);
  }
}

TEST(SameWindows, OfImagesBetweenImagesOfZerosHaveTheirBits) {
  install_fusing_evaluator();
  const Tensor x = testing::noise({3, 16, 16}, 1, Dtype::float32);
  const Tensor dy = testing::noise({3, 16, 16}, 2, Dtype::float32);
  for (const Dims& border : {Dims{1, 0}, {0, 1}, {2, 2}, {5, 0}}) {
    auto product = [&](bool stores) {
      const Tensor padded = pad(x, {border[0], 1, 1}, {border[1], 1, 1}, 0);
      if (stores) evaluate(padded);
      const Tensor windows = window(window(padded, 1, 3, 1, 1), 2, 3, 1, 1);
      return einsum("nhw,nhwij->ij", {dy, slice(windows, 0, 0, 3, 1)});
    };
    const auto expected = bits(product(true));
    for (int threads : {1, 3}) {
      set_thread_count(threads);
      on_every_target([&](const char* target) {
        EXPECT_EQ(bits(product(false)), expected) << target << ", images in front: " << border[0];
      });
    }
    set_thread_count(0);
  }
}

}  // namespace
}  // namespace mt::cpu
