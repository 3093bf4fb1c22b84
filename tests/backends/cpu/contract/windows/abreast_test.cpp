// SPDX-License-Identifier: Apache-2.0
// Batch entries computed side by side, as in convolutions of many small images.
#include "backends/cpu/contract/windows/abreast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "backends/cpu/contract/bits.h"
#include "backends/cpu/contract/contract_check.h"
#include "backends/cpu/parallel/parallel.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::cpu {
namespace {

bool abreast(const Contraction& c, int threads) {
  return choose_abreast(operand_a(c), operand_b(c), threads, nullptr).entries > 0;
}

// `own`: each entry has weights of its own, as channels of a depthwise convolution have.
void check_bits(bool own) {
  Random random(1);
  int chosen = 0, of = 0;
  for (int64_t images : {6, 8, 13, 16, 20, 28, 32, 45}) {
    for (int64_t outputs : {1, 5, 6, 12, 16, 23}) {
      if (own) outputs = (outputs + 5) / 6;  // up to four
      const int64_t channels = pick(random, {1, own ? 1 : 3, own ? 3 : 6});
      const int64_t kernel = pick(random, {2, 3, 5});
      const int64_t step = pick(random, {1, 1, 2}), dilation = pick(random, {1, 1, 2});
      const int64_t rows = pick(random, {1, 3, 6, 11}),
                    columns = pick(random, {2, 3, 7, 10, 14, 28});
      const int64_t width = (columns - 1) * step + (kernel - 1) * dilation + 1;
      const int64_t plane = ((rows - 1) * step + (kernel - 1) * dilation + 1) * width;
      const int64_t taps = channels * kernel * kernel, sign = random() % 2 ? 1 : -1;
      const Contraction c{{{images, own ? outputs * taps : 0, channels * plane}},
                          {{outputs, taps, 0}},
                          {{rows, 0, step * width}, {columns, 0, step}},
                          {{channels, kernel * kernel, plane},
                           {kernel, sign * kernel, dilation * width},
                           {kernel, sign, dilation}},
                          Dtype::float32,
                          Dtype::float32,
                          Dtype::float32};
      check(c, random, {1, 2});
      if (::testing::Test::HasFatalFailure()) return;
      chosen += abreast(c, 1);  // on the best instruction set
      ++of;
    }
  }
  EXPECT_GT(chosen, of / 4);
}

TEST(Abreast, HasTheBitsOfTheLoop) { check_bits(false); }
TEST(Abreast, HasTheBitsOfTheLoopWithOwnWeights) { check_bits(true); }

// Products with padding show where a weight is infinite, and where a sum is -0 without them.
TEST(Abreast, DepthwiseConvolutionsHaveTheBitsOfAPaddedCopy) {
  const double endless = std::numeric_limits<double>::infinity(), tiny = 1e-30;
  const Tensor zero = testing::make({}, {0}, Dtype::float32);
  const auto minute = [&](const Tensor& x) {
    return where(greater(x, zero), full(x.shape(), -tiny, Dtype::float32, x.device()), zero);
  };
  for (int64_t channels : {6, 16, 40}) {
    for (int64_t kernel : {3, 5, 7}) {
      for (int64_t step : {1, 2}) {
        for (int64_t side : {5, 7, 14, 17}) {
          const int64_t around = kernel / 2;
          const Convolution how{{step, step}, {around, around}, {1, 1}, {0, 0}, channels};
          const Convolution none{{step, step}, {0, 0}, {1, 1}, {0, 0}, channels};
          const Tensor noisy = testing::noise({3, channels, side, side}, 1, Dtype::float32);
          const Tensor some = testing::noise({channels, 1, kernel, kernel}, 2, Dtype::float32);
          const Tensor limit = testing::make({}, {0.95}, Dtype::float32);
          const Tensor infinite = full(some.shape(), endless, Dtype::float32, some.device());
          const Tensor pairs[][2] = {{noisy, some},
                                     {noisy, where(greater(some, limit), infinite, some)},
                                     {minute(noisy), abs(minute(some))}};
          for (const auto& [x, weight] : pairs) {
            const Tensor wide = pad(x, {0, 0, around, around}, {0, 0, around, around}, 0);
            for (const Tensor& t : {x, weight, wide}) evaluate(t);
            ASSERT_TRUE(set_instruction_set("SCALAR"));
            const auto expected = bits(convolution(wide, weight, nullptr, none));
            set_instruction_set(nullptr);
            for (int threads : {1, 3}) {
              set_thread_count(threads);
              on_every_target([&](const char* target) {
                EXPECT_EQ(bits(convolution(x, weight, nullptr, how)), expected)
                    << target << " " << channels << " " << kernel << " " << step << " " << side;
              });
            }
            set_thread_count(0);
          }
        }
      }
    }
  }
}

TEST(Abreast, IsLeftToEntriesThatFillLanesAndThreads) {
  auto images = [](int64_t count, int64_t of_a = 0) {
    return Contraction{{{count, of_a, 6 * 14 * 14}},
                       {{16, 150, 0}},
                       {{10, 0, 14}, {10, 0, 1}},
                       {{6, 25, 14 * 14}, {5, 5, 14}, {5, 1, 1}},
                       Dtype::float32,
                       Dtype::float32,
                       Dtype::float32};
  };
  if (!set_instruction_set("AVX3")) GTEST_SKIP() << "for 16 lanes";
  EXPECT_TRUE(abreast(images(64), 4));
  EXPECT_FALSE(abreast(images(64), 5));
  EXPECT_TRUE(abreast(images(12), 1));
  EXPECT_FALSE(abreast(images(17), 1));
  EXPECT_FALSE(abreast(images(64, 16 * 150), 1));
  set_instruction_set(nullptr);
}

// A convolution of images [channels, rows, columns] with zeros around them, as its plan has it.
struct Padded {
  Contraction contraction;
  EntryParts parts;
};
Padded padded(int64_t images, int64_t outputs, const Shape& image, int64_t kernel, int64_t zeros) {
  const int64_t channels = image[0], rows = image[1], columns = image[2];
  const int64_t width = columns + 2 * zeros, plane = (rows + 2 * zeros) * width;
  const Layout whole = contiguous_layout({channels, rows + 2 * zeros, width});
  return {{{{images, 0, channels * plane}},
           {{outputs, channels * kernel * kernel, 0}},
           {{rows + 2 * zeros - kernel + 1, 0, width}, {width - kernel + 1, 0, 1}},
           {{channels, kernel * kernel, plane}, {kernel, kernel, width}, {kernel, 1, 1}},
           Dtype::float32,
           Dtype::float32,
           Dtype::float32},
          {contiguous_layout(image), slice(slice(whole, 1, zeros, rows, 1), 2, zeros, columns, 1),
           element_count(whole.shape)}};
}

// Whether images are computed abreast, some results from fewer terms than all.
bool leaves_out(const Padded& of, int threads) {
  const Abreast how =
      choose_abreast(operand_a(of.contraction), operand_b(of.contraction), threads, &of.parts);
  const int64_t all = operand_a(of.contraction).k.size;
  return std::any_of(how.kept.begin(), how.kept.end(),
                     [&](const Abreast::Terms& terms) { return terms.count < all; });
}

// Products with padding are left out, unless that shows.
TEST(Abreast, PaddingIsMultipliedAsFarAsAnyoneCanTell) {
  const Convolution same{{1, 1}, {2, 2}, {1, 1}, {0, 0}, 1},
      none{{1, 1}, {0, 0}, {1, 1}, {0, 0}, 1};
  const double endless = std::numeric_limits<double>::infinity(), tiny = 1e-30;
  Tensor weight = testing::noise({5, 3, 5, 5}, 2, Dtype::float32);
  const Tensor zero = testing::make({}, {0}, Dtype::float32);
  auto everywhere = [](const Tensor& x, double value) {
    return full(x.shape(), value, Dtype::float32, x.device());
  };
  Tensor signs = where(greater(weight, zero), everywhere(weight, tiny), everywhere(weight, -tiny));
  Tensor infinite = where(greater(weight, testing::make({}, {0.9}, Dtype::float32)),
                          everywhere(weight, endless), weight);
  Tensor weights[] = {weight, signs, infinite, everywhere(weight, tiny)};
  for (const Tensor& w : weights) evaluate(w);
  int left_out = 0;
  for (int threads : {1, 2}) {
    set_thread_count(threads);
    const int64_t images = 32 * threads;
    Tensor noisy = testing::noise({images, 3, 9, 7}, 1, Dtype::float32);
    // All products are too small for a float: sums of -0, to which padding adds 0 or -0.
    Tensor minute = where(greater(noisy, zero), everywhere(noisy, -tiny), zero);
    on_every_target([&](const char* target) {
      left_out += leaves_out(padded(images, 5, {3, 9, 7}, 5, 2), threads);
      for (const Tensor& x : {noisy, minute}) {
        for (const Tensor& w : weights) {
          for (double fill : {0.0, 1.0}) {
            evaluate(x);
            Tensor wide = pad(x, {0, 0, 2, 2}, {0, 0, 2, 2}, fill);
            evaluate(wide);
            Tensor y =
                fill == 0 ? convolution(x, w, nullptr, same)
                          : convolution(pad(x, {0, 0, 2, 2}, {0, 0, 2, 2}, fill), w, nullptr, none);
            EXPECT_EQ(bits(y), bits(convolution(wide, w, nullptr, none))) << target;
          }
        }
      }
    });
  }
  set_thread_count(0);
  EXPECT_GE(left_out, 2);
}

// An image by itself has no others beside it. The weight is read backwards here.
TEST(Abreast, ImagesHaveTheBitsThatTheyHaveAlone) {
  const Convolution how{{1, 1}, {1, 1}, {1, 1}, {0, 0}, 1};
  const double endless = std::numeric_limits<double>::infinity();
  Tensor x = testing::noise({20, 5, 9, 7}, 1, Dtype::float32);
  Tensor weight = testing::noise({5, 3, 5, 5}, 2, Dtype::float32);
  Tensor infinite = where(greater(weight, testing::make({}, {0.95}, Dtype::float32)),
                          full(weight.shape(), endless, Dtype::float32, weight.device()), weight);
  evaluate(x);
  set_thread_count(1);
  int left_out = 0;
  on_every_target([&](const char* target) {
    left_out += leaves_out(padded(16, 3, {5, 9, 7}, 5, 3), 1);
    for (const Tensor& w : {weight, infinite}) {
      evaluate(w);
      Tensor all = convolution_transpose(slice(x, 0, 0, 16, 1), w, nullptr, how);
      evaluate(all);
      for (int64_t i : {0, 7, 15}) {
        Tensor one = convolution_transpose(slice(x, 0, i, 1, 1), w, nullptr, how);
        EXPECT_EQ(bits(one), bits(copy(slice(all, 0, i, 1, 1)))) << target;
      }
    }
  });
  set_thread_count(0);
  EXPECT_GE(left_out, 1);
}

}  // namespace
}  // namespace mt::cpu
