// SPDX-License-Identifier: Apache-2.0
// Convolutions by minimal filtering.
#include "backends/cpu/contract/filtering/filtering.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

// Images whose elements are `step` apart, perhaps backwards; a weight that is read forwards, or
// backwards with its axes exchanged, as the transpose does.
Contraction filtered(int64_t images, int64_t groups, int64_t outputs, int64_t channels,
                     int64_t lines, int64_t positions, int64_t step, bool transposed) {
  const int64_t line = (positions + 3) * step, plane = line * (lines + 2), weight = channels * 9;
  const int64_t sign = transposed ? -1 : 1;
  const int64_t of_output = transposed ? 9 : weight, of_channel = transposed ? outputs * 9 : 9;
  Contraction c{
      {{images, 0, groups * channels * plane}, {groups, outputs * weight, channels * plane}},
      {{outputs, of_output, 0}},
      {{lines, 0, line}, {positions, 0, step}},
      {{channels, of_channel, plane}, {3, sign * 3, line}, {3, sign, step}},
      Dtype::float32,
      Dtype::float32,
      Dtype::float32};
  c.precision = minimal_filtering;
  return c;
}

TEST(Filtering, HasTheBitsOfTheLoop) {
  Random random(1);
  for (int64_t positions : {2, 15, 16, 17, 31, 33, 56, 70}) {
    const int64_t images = pick(random, {1, 2, 9}), groups = pick(random, {1, 1, 3});
    const int64_t outputs = pick(random, {5, 16, 19}), channels = pick(random, {3, 16, 21});
    const int64_t lines = pick(random, {2, 3, 8, 15}), step = pick(random, {1, 1, 2, -1});
    Contraction c =
        filtered(images, groups, outputs, channels, lines, positions, step, random() % 2);
    if (random() % 4 == 0) c.b = Dtype::float16;
    check(c, random, {1, 2, 3, 5});
    if (HasFatalFailure()) return;
  }
  // A line of more tiles than are computed together, and more channels than are multiplied at once.
  check(filtered(1, 1, 7, 2, 3, 1030, 1, false), random, {1, 2});
  check(filtered(1, 1, 5, 300, 5, 17, 1, true), random, {1, 2});
  // Outputs that are shared out, of one band and of several.
  check(filtered(1, 1, 2 * filtered_outputs + 9, 2, 5, 17, 1, false), random, {1, 2, 5});
  check(filtered(1, 1, 3 * filtered_outputs + 9, 2, 31, 15, 1, false), random, {1, 2, 3, 5});
  check(filtered(19, 1, 5 * filtered_outputs, 3, 7, 7, 1, true), random, {1, 2, 3, 5});
}

TEST(Filtering, DependsOnTheOperatorAlone) {
  auto chosen = [](const Shape& x, const Shape& w, Convolution how, Dtype dtype = Dtype::float32) {
    Tensor y = convolution(noise(x, 1, dtype), noise(w, 2, dtype), nullptr, how);
    while (y->op->kind == OpKind::view) y = y->inputs[0];
    return precision_of(*y->op, y->attributes) == minimal_filtering;
  };
  const Convolution same{{1, 1}, {1, 1}, {1, 1}, {0, 0}, 1};
  EXPECT_TRUE(chosen({1, 16, 16, 16}, {32, 16, 3, 3}, same));
  EXPECT_TRUE(chosen({1, 32, 16, 16}, {64, 16, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {0, 0}, 2}));
  // Small images, if there are enough of them.
  EXPECT_TRUE(chosen({4, 32, 8, 8}, {32, 32, 3, 3}, same));
  EXPECT_FALSE(chosen({3, 32, 8, 8}, {32, 32, 3, 3}, same));
  EXPECT_FALSE(chosen({8, 31, 8, 8}, {64, 31, 3, 3}, same));
  EXPECT_FALSE(chosen({8, 32, 7, 8}, {32, 32, 3, 3}, same));
  EXPECT_TRUE(chosen({4, 256, 7, 7}, {256, 256, 3, 3}, same));
  EXPECT_FALSE(chosen({4, 256, 7, 6}, {256, 256, 3, 3}, same));
  EXPECT_FALSE(chosen({3, 256, 7, 7}, {256, 256, 3, 3}, same));
  // Fewer of them, if the weight is large.
  EXPECT_TRUE(chosen({1, 128, 10, 9}, {128, 128, 3, 3}, same));
  EXPECT_FALSE(chosen({1, 128, 10, 8}, {128, 128, 3, 3}, same));
  EXPECT_FALSE(chosen({1, 127, 10, 10}, {128, 127, 3, 3}, same));
  EXPECT_TRUE(chosen({7, 256, 4, 4}, {256, 256, 3, 3}, same));
  EXPECT_FALSE(chosen({6, 256, 4, 4}, {256, 256, 3, 3}, same));
  // Smaller ones of whole tiles.
  EXPECT_TRUE(chosen({16, 128, 4, 4}, {128, 128, 3, 3}, same));
  EXPECT_TRUE(chosen({11, 128, 6, 4}, {128, 128, 3, 3}, same));
  EXPECT_FALSE(chosen({10, 128, 6, 4}, {128, 128, 3, 3}, same));
  EXPECT_FALSE(chosen({16, 127, 4, 4}, {128, 127, 3, 3}, same));
  EXPECT_FALSE(chosen({32, 128, 5, 4}, {128, 128, 3, 3}, same));
  EXPECT_FALSE(chosen({64, 128, 2, 4}, {128, 128, 3, 3}, same));
  EXPECT_FALSE(chosen({1, 16, 16, 16}, {32, 16, 3, 3}, same, Dtype::float64));
  EXPECT_FALSE(chosen({1, 15, 16, 16}, {48, 15, 3, 3}, same));
  EXPECT_FALSE(chosen({1, 48, 16, 16}, {15, 48, 3, 3}, same));
  EXPECT_FALSE(chosen({1, 16, 16, 16}, {31, 16, 3, 3}, same));
  EXPECT_FALSE(chosen({1, 16, 32, 14}, {32, 16, 3, 3}, same));
  EXPECT_FALSE(chosen({1, 16, 4, 56}, {32, 16, 3, 3}, same));
  EXPECT_FALSE(chosen({1, 16, 32, 32}, {32, 16, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {0, 0}, 1}));
  EXPECT_FALSE(chosen({1, 16, 32, 32}, {32, 16, 3, 3}, {{1, 1}, {1, 1}, {2, 2}, {0, 0}, 1}));
  EXPECT_FALSE(chosen({1, 16, 32, 32}, {32, 16, 5, 5}, same));
}

struct Case {
  Shape x, w;
  int64_t padding, groups;
};
const Case cases[] = {
    {{3, 16, 17, 15}, {32, 16, 3, 3}, 1, 1},   {{1, 23, 18, 18}, {25, 23, 3, 3}, 0, 1},
    {{2, 36, 18, 19}, {58, 18, 3, 3}, 2, 2},   {{2, 16, 20, 40}, {32, 16, 3, 3}, 1, 1},
    {{1, 16, 4, 70}, {32, 16, 3, 3}, 1, 1},    {{7, 64, 9, 8}, {70, 64, 3, 3}, 1, 1},
    {{17, 128, 4, 4}, {130, 128, 3, 3}, 1, 1},
};

// Forwards, to both operands, and of second order: fused and eager, against the reference device.
TEST(Filtering, AgreesWithDirectSums) {
  for (const Case& c : cases) {
    const Convolution how{{1, 1}, {c.padding, c.padding}, {1, 1}, {0, 0}, c.groups};
    testing::check_devices(
        [&](const std::vector<Tensor>& t) {
          return relu(convolution(t[0], t[1], t[2], how) * 2) + 1;
        },
        {c.x, c.w, {c.w[0]}});
  }
}

// x where `places` says 0, else `value`.
Tensor with(const Tensor& x, const std::vector<int64_t>& places, double value) {
  testing::Numbers numbers = testing::read(x);
  for (int64_t place : places) numbers[static_cast<size_t>(place)] = value;
  return testing::make(x.shape(), numbers, x.dtype(), x.device());
}

// What is not finite, or large, reaches the windows that it is in and no others, as itself.
TEST(Filtering, NumbersThatAreNotFiniteGoWhereTheyGoInDirectSums) {
  const double endless = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Convolution how{{1, 1}, {1, 1}, {1, 1}, {0, 0}, 1};
  Tensor x = noise({1, 16, 40, 31}, 1, Dtype::float32),
         w = noise({32, 16, 3, 3}, 2, Dtype::float32);
  Tensor small = w * 1e-3;
  evaluate(small);
  const int64_t line = 31;
  for (double value : {nan, -endless, 3e38}) {
    for (const std::vector<int64_t>& places :
         {std::vector<int64_t>{0}, {3 * line + 4, 55 * line + 30, 39 * line + 17}}) {
      Tensor odd = with(x, places, value);
      auto direct = [&](const Tensor& of) {
        auto there = [](const Tensor& t) {
          return testing::make(t.shape(), testing::read(t), Dtype::float32, testing::reference());
        };
        return testing::read(convolution(there(odd), there(of), nullptr, how));
      };
      for (const Tensor& of : {small, with(small, {7 * 144 + 5}, value)}) {
        const testing::Numbers expected = direct(of);
        const testing::Numbers found = testing::read(convolution(odd, of, nullptr, how) + 1.0);
        for (size_t i = 0; i < expected.size(); ++i) {
          if (std::isfinite(expected[i])) {
            // An error is relative to the largest element and weight of the window.
            const bool has_large = std::abs(expected[i]) > 1e3;
            EXPECT_NEAR(found[i], expected[i] + 1, has_large ? 1e-6 * 3e38 : 1e-5) << i;
          } else {
            EXPECT_FALSE(std::isfinite(found[i])) << i;
            EXPECT_EQ(std::isnan(found[i]), std::isnan(expected[i])) << i;
          }
          if (::testing::Test::HasFailure()) FAIL() << value << " at " << i;
        }
      }
    }
  }
}

// One number of threads or another, eager or fused, finite or not.
TEST(Filtering, BitsAreTheSameHoweverItRuns) {
  const Convolution how{{1, 1}, {1, 1}, {1, 1}, {0, 0}, 1};
  Tensor w = noise({30, 18, 3, 3}, 2, Dtype::float32), bias = noise({30}, 3, Dtype::float32);
  Tensor plain = noise({3, 18, 33, 29}, 1, Dtype::float32);
  Tensor odd = with(plain, {18 * 33 * 29 + 7}, std::nan(""));
  Tensor residual = noise({3, 30, 33, 29}, 4, Dtype::float32);
  for (const Tensor& x : {plain, odd}) {
    std::vector<uint32_t> first;
    for (int threads : {1, 2, 3, 4, 5}) {
      set_thread_count(threads);
      on_every_target([&](const char* target) {
        Tensor y = convolution(x, w, nullptr, how);
        evaluate(y);
        y = y + reshape(bias, {30, 1, 1});
        evaluate(y);
        const std::vector<uint32_t> by_steps = bits(relu(y + residual));
        const std::vector<uint32_t> fused = bits(relu(convolution(x, w, bias, how) + residual));
        if (first.empty()) first = fused;
        EXPECT_EQ(by_steps, first) << target << threads;
        EXPECT_EQ(fused, first) << target << threads;
        // Each image has the bits that it has alone, and that its mirror image's mirror image has.
        Tensor one = convolution(slice(x, 0, 1, 1, 1), w, bias, how);
        EXPECT_EQ(
            bits(relu(one + slice(residual, 0, 1, 1, 1))),
            std::vector<uint32_t>(first.begin() + 30 * 33 * 29, first.begin() + 2 * 30 * 33 * 29));
        Tensor turned = flip(x, {3});
        evaluate(turned);
        turned = copy(turned);
        evaluate(turned);
        Tensor back = convolution(flip(turned, {3}), w, bias, how);
        EXPECT_EQ(bits(relu(back + residual)), first) << target << threads;
      });
    }
  }
  set_thread_count(0);
}

// Bands of several images: each has the bits that it has beside others, finite or not.
TEST(Filtering, SmallImagesShareBands) {
  const Convolution how{{1, 1}, {1, 1}, {1, 1}, {0, 0}, 1};
  const int64_t images = 9, outputs = filtered_outputs + 2, image = outputs * 9 * 10;
  Tensor w = noise({outputs, 64, 3, 3}, 2, Dtype::float32);
  Tensor bias = noise({outputs}, 3, Dtype::float32);
  Tensor plain = noise({images, 64, 9, 10}, 1, Dtype::float32);
  Tensor odd = with(plain, {4 * 64 * 9 * 10 + 7}, std::nan(""));
  std::vector<uint32_t> first[2];
  for (int threads : {1, 2, 3, 5, 16}) {
    set_thread_count(threads);
    on_every_target([&](const char* target) {
      for (int i = 0; i < 2; ++i) {
        const Tensor& x = i ? odd : plain;
        Tensor y = convolution(x, w, nullptr, how);
        evaluate(y);
        const std::vector<uint32_t> by_steps = bits(relu(y + reshape(bias, {outputs, 1, 1})));
        const std::vector<uint32_t> fused = bits(relu(convolution(x, w, bias, how)));
        if (first[i].empty()) first[i] = fused;
        EXPECT_EQ(by_steps, first[i]) << target << threads;
        EXPECT_EQ(fused, first[i]) << target << threads;
        Tensor some = convolution(slice(x, 0, 3, 5, 1), w, bias, how);
        EXPECT_EQ(bits(relu(some)), std::vector<uint32_t>(first[i].begin() + 3 * image,
                                                          first[i].begin() + 8 * image));
      }
    });
  }
  set_thread_count(0);
  EXPECT_NE(first[0], first[1]);
  for (int64_t at = 0; at < images * image; ++at) {
    if (at / image == 4) continue;
    ASSERT_EQ(first[0][at], first[1][at]) << at;
  }
}

// Few bands' outputs are shared out, and summed directly where one of theirs is not finite.
TEST(Filtering, OutputsAreSharedOut) {
  const Convolution how{{1, 1}, {1, 1}, {1, 1}, {0, 0}, 1};
  const int64_t outputs = 3 * filtered_outputs + 5, image = 16 * 16;
  Tensor x = noise({1, 16, 16, 16}, 1, Dtype::float32);
  Tensor plain = noise({outputs, 16, 3, 3}, 2, Dtype::float32);
  Tensor odd = with(plain, {(filtered_outputs + 3) * 144}, std::numeric_limits<double>::infinity());
  Tensor bias = noise({outputs}, 3, Dtype::float32);
  std::vector<uint32_t> first[2];
  for (int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    for (int i = 0; i < 2; ++i) {
      const std::vector<uint32_t> found = bits(relu(convolution(x, i ? odd : plain, bias, how)));
      if (first[i].empty()) first[i] = found;
      EXPECT_EQ(found, first[i]) << threads;
    }
  }
  set_thread_count(0);
  // The others' are what they were.
  for (int64_t at = 0; at < outputs * image; ++at) {
    const int64_t block = at / image / filtered_outputs;
    if (block == 1) continue;
    ASSERT_EQ(first[0][at], first[1][at]) << at;
  }
  EXPECT_NE(first[0], first[1]);
}

}  // namespace
}  // namespace mt::cpu
