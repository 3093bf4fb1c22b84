// SPDX-License-Identifier: Apache-2.0
// The weight's gradient by minimal filtering.
#include "backends/cpu/contract/filtering/filtered_weight.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autodiff/backward.h"
#include "backends/cpu/contract/bits.h"
#include "backends/cpu/contract/contract_check.h"
#include "backends/cpu/parallel/parallel.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/minimal_filtering.h"
#include "ops/ops.h"

namespace mt::cpu {
namespace {

using testing::noise;

// Elements that are `step` apart, perhaps backwards, of images and of results' gradients.
Contraction filtered(int64_t images, int64_t groups, int64_t outputs, int64_t channels,
                     int64_t lines, int64_t positions, int64_t x_step, int64_t y_step) {
  const int64_t line = (positions + 3) * x_step, plane = line * (lines + 2);
  const int64_t y_line = positions * y_step, y_plane = y_line * lines;
  Contraction c{{{groups, outputs * y_plane, channels * plane}},
                {{outputs, y_plane, 0}},
                {{channels, 0, plane}, {3, 0, line}, {3, 0, x_step}},
                {{images, groups * outputs * y_plane, groups * channels * plane},
                 {lines, y_line, line},
                 {positions, y_step, x_step}},
                Dtype::float32,
                Dtype::float32,
                Dtype::float32};
  c.precision = minimal_filtering_of_weight;
  return c;
}

TEST(FilteredWeight, HasTheBitsOfTheLoop) {
  Random random(1);
  for (int64_t positions : {1, 2, 8, 15, 16, 17, 31, 33, 56, 70}) {
    const int64_t images = pick(random, {1, 2, 9}), groups = pick(random, {1, 1, 3});
    const int64_t outputs = pick(random, {5, 16, 19}), channels = pick(random, {3, 16, 21});
    const int64_t lines = pick(random, {1, 2, 3, 8, 15});
    Contraction c = filtered(images, groups, outputs, channels, lines, positions,
                             pick(random, {1, 1, 2, -1}), pick(random, {1, 1, 0, 3}));
    if (random() % 4 == 0) c.a = Dtype::float16;
    if (random() % 4 == 0) c.b = Dtype::bfloat16;
    check(c, random, {1, 2, 3, 5});
    if (HasFatalFailure()) return;
  }
  // Several blocks of both, and lines of more tiles than are computed together.
  check(filtered(1, 1, 70, 80, 4, 5, 1, 1), random, {1, 2});
  check(filtered(1, 1, 3, 2, 3, 1030, 1, 1), random, {1, 2});
  check(filtered(2, 1, 3, 2, 3, 520, 2, 2), random, {1});
  // Several panels, over images whose last line of tiles is half empty.
  check(filtered(40, 1, 4, 5, 9, 11, 1, 1), random, {1, 2, 7});
}

// The weight's gradient of a convolution.
Tensor weight_gradient(const Tensor& x, const Tensor& w, const Tensor& dy, const Convolution& how) {
  const Tensor of = w.requires_gradient() ? w : testing::leaf(w);
  return gradients({convolution(x, of, nullptr, how)}, {dy}, {of})[0];
}
Convolution padded(int64_t padding, int64_t groups = 1) {
  return {{1, 1}, {padding, padding}, {1, 1}, {0, 0}, groups};
}

TEST(FilteredWeight, DependsOnTheOperatorAlone) {
  auto chosen = [](const Shape& x, const Shape& w, Convolution how, Dtype dtype = Dtype::float32) {
    Tensor value = convolution(noise(x, 1, dtype), testing::leaf(noise(w, 2, dtype)), nullptr, how);
    Tensor dw = weight_gradient(noise(x, 1, dtype), noise(w, 2, dtype),
                                noise(value.shape(), 3, dtype), how);
    while (dw->op->kind == OpKind::view) dw = dw->inputs[0];
    return precision_of(*dw->op, dw->attributes) == minimal_filtering_of_weight;
  };
  EXPECT_TRUE(chosen({3, 32, 16, 16}, {16, 32, 3, 3}, padded(1)));
  EXPECT_TRUE(chosen({12, 32, 10, 10}, {16, 32, 3, 3}, padded(0)));
  EXPECT_TRUE(chosen({3, 64, 16, 16}, {32, 32, 3, 3}, padded(1, 2)));
  EXPECT_FALSE(chosen({3, 32, 16, 16}, {16, 32, 3, 3}, padded(1), Dtype::float64));
  EXPECT_FALSE(chosen({3, 31, 16, 16}, {16, 31, 3, 3}, padded(1)));
  EXPECT_FALSE(chosen({3, 32, 16, 16}, {15, 32, 3, 3}, padded(1)));
  EXPECT_FALSE(chosen({2, 32, 16, 16}, {16, 32, 3, 3}, padded(1)));
  EXPECT_FALSE(chosen({40, 32, 7, 16}, {16, 32, 3, 3}, padded(1)));
  EXPECT_FALSE(chosen({40, 32, 32, 32}, {16, 32, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {0, 0}, 1}));
  EXPECT_FALSE(chosen({3, 32, 32, 32}, {16, 32, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {0, 0}, 1}));
  EXPECT_FALSE(chosen({3, 32, 32, 32}, {16, 32, 5, 5}, padded(1)));
}

struct Case {
  Shape x, w;
  int64_t padding, groups;
};
const Case cases[] = {
    {{3, 32, 15, 17}, {17, 32, 3, 3}, 1, 1},
    {{1, 35, 29, 31}, {16, 35, 3, 3}, 0, 1},
    {{3, 64, 13, 14}, {32, 32, 3, 3}, 2, 2},
    {{10, 32, 8, 9}, {16, 32, 3, 3}, 1, 1},
};

// And of second order: fused and eager, against the reference device.
TEST(FilteredWeight, AgreesWithDirectSums) {
  for (const Case& c : cases) {
    const Convolution how = padded(c.padding, c.groups);
    const Shape y{c.x[0], c.w[0], c.x[2] + 2 * c.padding - 2, c.x[3] + 2 * c.padding - 2};
    testing::check_devices(
        [&](const std::vector<Tensor>& t) {
          return weight_gradient(t[0], t[1], t[2], how) * 2 + 1;
        },
        {c.x, c.w, y}, Dtype::float32, 2e-5);
  }
  // A gradient that is the same everywhere, and images in another order of axes, of which a part
  // of what is padded, not with zeros, is read.
  testing::check_devices(
      [&](const std::vector<Tensor>& t) {
        Tensor x = pad(permute(t[0], {0, 3, 1, 2}), {0, 0, 2, 1}, {0, 0, 2, 3}, 0.5);
        Tensor dy = expand(t[2], {3, 16, 19, 17});
        return weight_gradient(slice(x, 3, 1, 19, 1), t[1], dy, padded(0));
      },
      {{3, 17, 18, 32}, {16, 32, 3, 3}, {1, 16, 1, 1}}, Dtype::float32, 2e-5);
}

Tensor with(const Tensor& x, int64_t place, double value) {
  testing::Numbers numbers = testing::read(x);
  numbers[static_cast<size_t>(place)] = value;
  return testing::make(x.shape(), numbers, x.dtype(), x.device());
}

// In the second of two groups; what is computed of the first stays what it was.
TEST(FilteredWeight, NumbersThatAreNotFiniteGoWhereTheyGoInDirectSums) {
  const double endless = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const int64_t outputs = 16, channels = 33, lines = 15, positions = 25, plane = lines * positions;
  Tensor w = noise({2 * outputs, channels, 3, 3}, 2, Dtype::float32);
  Tensor x = noise({2, 2 * channels, lines, positions}, 1, Dtype::float32);
  Tensor dy = noise({2, 2 * outputs, lines, positions}, 3, Dtype::float32);
  const Convolution how = padded(1, 2);
  const size_t group = static_cast<size_t>(outputs * channels * 9);
  const std::vector<uint32_t> plain = bits(weight_gradient(x, w, dy, how));
  for (double value : {nan, -endless, 3e38}) {
    for (int64_t place : {int64_t{0}, plane - 1, 5 * plane + 14 * positions + 12}) {
      if (std::isfinite(value) && place > 0) break;
      for (bool of_image : {true, false}) {
        const Tensor odd_x = of_image ? with(x, channels * plane + place, value) : x;
        const Tensor odd_dy = of_image ? dy : with(dy, outputs * plane + place, value);
        auto there = [](const Tensor& t) {
          return testing::make(t.shape(), testing::read(t), Dtype::float32, testing::reference());
        };
        const testing::Numbers expected =
            testing::read(weight_gradient(there(odd_x), there(w), there(odd_dy), how));
        const Tensor gradient = weight_gradient(odd_x, w, odd_dy, how);
        const testing::Numbers found = testing::read(gradient);
        const std::vector<uint32_t> found_bits = bits(gradient);
        for (size_t i = 0; i < expected.size(); ++i) {
          if (i < group) {
            ASSERT_EQ(found_bits[i], plain[i]) << i;
          } else if (std::isfinite(expected[i])) {
            const bool has_large = std::abs(expected[i]) > 1e6;
            ASSERT_NEAR(found[i], expected[i],
                        has_large       ? 1e-5 * 3e38
                        : value == 3e38 ? 1e33
                                        : 1e-3)
                << i << " " << value;
          } else {
            ASSERT_FALSE(std::isfinite(found[i])) << i;
            ASSERT_EQ(std::isnan(found[i]), std::isnan(expected[i])) << i;
          }
        }
      }
    }
  }
}

// One number of threads or another, eager or with a step that is fused, padded or read around.
TEST(FilteredWeight, BitsAreTheSameHoweverItRuns) {
  const Convolution how = padded(1);
  Tensor w = noise({30, 34, 3, 3}, 2, Dtype::float32),
         dy = noise({3, 30, 33, 29}, 3, Dtype::float32);
  Tensor plain = noise({3, 34, 33, 29}, 1, Dtype::float32);
  for (const Tensor& x : {plain, with(plain, 34 * 33 * 29 + 7, std::nan(""))}) {
    std::vector<uint32_t> first;
    for (int threads : {1, 2, 3, 4, 5}) {
      set_thread_count(threads);
      on_every_target([&](const char* target) {
        Tensor dw = weight_gradient(x, w, dy, how);
        evaluate(dw);
        const std::vector<uint32_t> by_steps = bits(w - dw * 0.1);
        const std::vector<uint32_t> fused = bits(w - weight_gradient(x, w, dy, how) * 0.1);
        Tensor around = pad(x, {0, 0, 1, 1}, {0, 0, 1, 1}, 0.0);
        evaluate(around);
        const Tensor of_padded = weight_gradient(around, w, dy, padded(0));
        if (first.empty()) first = fused;
        EXPECT_EQ(by_steps, first) << target << threads;
        EXPECT_EQ(fused, first) << target << threads;
        EXPECT_EQ(bits(w - of_padded * 0.1), first) << target << threads;
      });
    }
  }
  set_thread_count(0);
}

}  // namespace
}  // namespace mt::cpu
