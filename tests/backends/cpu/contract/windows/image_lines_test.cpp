// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions have the bits of a loop's, and around an image those that they have over a
// padded copy.
#include "backends/cpu/contract/windows/image_lines.h"

#include <gtest/gtest.h>

#include "backends/cpu/contract/bits.h"
#include "backends/cpu/contract/contract_check.h"
#include "backends/cpu/parallel/parallel.h"
#include "fusion/evaluator.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::cpu {
namespace {

struct Windows {
  int64_t height = 3, width = 3, down = 1, right = 1;
};

// A result of so many lines and columns. `step`: from a weight to the next.
Contraction depthwise(int64_t images, int64_t channels, int64_t height, int64_t width, int64_t step,
                      Dtype dtype, const Windows& of = {}) {
  const int64_t line = (width - 1) * of.right + of.width;
  const int64_t plane = ((height - 1) * of.down + of.height) * line, terms = of.height * of.width;
  return {{{images, 0, channels * plane}, {channels, terms, plane}},
          {{1, terms, 0}},
          {{height, 0, of.down * line}, {width, 0, of.right}},
          {{of.height, step * of.width, line}, {of.width, step, 1}},
          dtype,
          dtype,
          dtype};
}

bool found(const Contraction& c) {
  return static_cast<bool>(find_image_lines(operand_a(c), operand_b(c), nullptr));
}

TEST(ImageLines, AreOfOneRowOfWeights) {
  Contraction c = depthwise(2, 3, 20, 20, 1, Dtype::float32);
  EXPECT_TRUE(found(c));
  EXPECT_TRUE(found(depthwise(2, 3, 20, 20, -1, Dtype::float32)));
  EXPECT_TRUE(found(depthwise(2, 3, 20, 20, 1, Dtype::float64)));
  EXPECT_TRUE(found(depthwise(2, 3, 20, 5, 1, Dtype::float32)));
  EXPECT_TRUE(found(depthwise(2, 3, 20, 20, 1, Dtype::float32, {5, 4, 3, 2})));
  EXPECT_FALSE(found(depthwise(2, 3, 20, 20, 1, Dtype::float64, {5, 4, 3, 2})));
  EXPECT_FALSE(found(depthwise(2, 3, 20, 20, 1, Dtype::float32, {3, 3, 100, 1})));
  c.k[1].b_stride = 2;
  EXPECT_FALSE(found(c));
  c = depthwise(2, 3, 20, 20, 1, Dtype::float32);
  c.m[0].size = 2;
  EXPECT_FALSE(found(c));
}

TEST(ImageLines, HaveTheBitsOfALoop) {
  Random random(3);
  for (int64_t width : {2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 18, 31, 33, 34, 48, 49, 56, 70}) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
      // Several images are computed in a block, and many of them in several blocks.
      const int64_t height = pick(random, {1, 2, 3, 4, 5, 6, 7, 14});
      const int64_t channels = pick(random, {1, 3, 20});
      check(depthwise(2, channels, height, width, random() % 2 ? 1 : -1, dtype), random, {1, 3});
      if (HasFatalFailure()) return;
    }
  }
  check(depthwise(1, 2, 500, 150, 1, Dtype::float32), random, {1, 3});
}

TEST(ImageLines, OfAnyWindowsHaveTheBitsOfALoop) {
  Random random(4);
  for (const Windows& of : {Windows{3, 3, 2, 2},
                            {5, 5, 1, 1},
                            {7, 7, 1, 1},
                            {2, 2, 2, 2},
                            {3, 7, 1, 3},
                            {6, 4, 5, 1},
                            {2, 3, 4, 4},
                            {4, 15, 1, 2}}) {
    for (int64_t width : {2, 3, 5, 8, 9, 14, 16, 17, 31, 32, 33, 70}) {
      const int64_t height = pick(random, {2, 3, 4, 5, 11});
      check(depthwise(2, 3, height, width, random() % 2 ? 1 : -1, Dtype::float32, of), random,
            {1, 3});
      if (HasFatalFailure()) return;
    }
  }
}

// relu(y + bias), so that there is an epilogue.
Tensor layer(const Tensor& x, const Tensor& weight, const Dims& stride, const Dims& before,
             const Dims& after, double fill) {
  const Tensor padded = pad(x, before, after, fill);
  const Convolution how{stride, {0, 0}, {1, 1}, {0, 0}, x.shape()[1]};
  const Tensor bias = slice(reshape(weight, {x.shape()[1], -1, 1}), 1, 0, 1, 1);
  return relu(add(convolution(padded, weight, nullptr, how), bias));
}

TEST(ImageLines, AroundAnImageHaveTheBitsOfAPaddedCopy) {
  install_fusing_evaluator();
  for (const Shape& shape : {Shape{2, 3, 14, 6},
                             {1, 2, 5, 7},
                             {2, 30, 7, 7},
                             {1, 2, 6, 4},
                             {2, 3, 3, 5},
                             {3, 2, 2, 8},
                             {1, 3, 9, 12},
                             {2, 2, 7, 17},
                             {20, 3, 16, 56}}) {
    for (const Dims& border :
         {Dims{1, 1, 1, 1}, {0, 2, 2, 1}, {2, 1, 0, 2}, {2, 2, 2, 2}, {3, 0, 0, 3}}) {
      const Dims before{0, 0, border[0], border[1]}, after{0, 0, border[2], border[3]};
      const Tensor x = testing::noise(shape, 1, Dtype::float32);
      for (const Windows& of : {Windows{}, {3, 3, 2, 2}, {2, 5, 1, 1}, {4, 2, 2, 3}}) {
        const Dims stride{of.down, of.right};
        const Tensor weight = testing::noise({shape[1], 1, of.height, of.width}, 2, Dtype::float32);
        for (double fill : {0.0, -0.0, 0.75}) {
          const Tensor padded = pad(x, before, after, fill);
          evaluate(padded);
          const auto expected = bits(layer(padded, weight, stride, {0, 0, 0, 0}, {0, 0, 0, 0}, 0));
          for (int threads : {1, 3}) {
            set_thread_count(threads);
            on_every_target([&](const char* target) {
              EXPECT_EQ(bits(layer(x, weight, stride, before, after, fill)), expected)
                  << target << " " << to_string(shape) << " " << border[1] << " " << border[3];
            });
          }
          set_thread_count(0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace mt::cpu
