// SPDX-License-Identifier: Apache-2.0
// The largest elements of windows of two by two, which every instruction set finds.
#include "backends/cpu/strided/pool_pairs.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "backends/cpu/elementwise/instruction_sets.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Few different numbers, zeros of both signs and NaNs among them.
std::vector<float> numbers(int64_t count) {
  const float some[] = {-2, 0.0f, -0.0f, 1.5f, -INFINITY, -0.0f, 3, 0.0f, -1, -2, NAN, -0.0f};
  std::vector<float> result;
  uint64_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    result.push_back(some[(state >> 33) % (i % 5 == 0 ? 12 : 10)]);
  }
  return result;
}

float larger(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  return a > b ? a : b;
}

TEST(Pooling, FindsTheLargestOfWindowsOfTwoByTwo) {
  constexpr int64_t images = 3, height = 7;
  cpu::for_each_instruction_set([&] {
    for (int64_t width = 2; width < 72; ++width) {
      const std::vector<float> x = numbers(images * height * width);
      const Tensor input = make({images, 1, height, width}, {x.begin(), x.end()}, Dtype::float32);
      Tensor y = copy(max_pool(input, {{2, 2}, {2, 2}, {0, 0}, {1, 1}}));
      evaluate(y);
      const auto* found = static_cast<const float*>(y->data());
      for (int64_t image = 0; image < images; ++image) {
        for (int64_t row = 0; row < height / 2; ++row) {
          for (int64_t column = 0; column < width / 2; ++column) {
            const float* at = &x[static_cast<size_t>((image * height + 2 * row) * width)];
            at += 2 * column;
            const float expected = larger(larger(at[0], at[width]), larger(at[1], at[width + 1]));
            if (std::isnan(expected)) {
              ASSERT_TRUE(std::isnan(*found)) << width << ", " << row << ", " << column;
            } else {
              ASSERT_EQ(bits_of(*found), bits_of(expected))
                  << width << ", " << row << ", " << column;
            }
            ++found;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace mt::testing
