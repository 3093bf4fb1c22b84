// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 strip by strip have the bits of their order, whatever the numbers.
#include "backends/cpu/contract/matrix_unit/strip_product.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "backends/cpu/contract/contract_check.h"
#include "backends/cpu/contract/matrix_unit/matrices.h"
#include "backends/cpu/contract/matrix_unit/matrix_unit.h"

namespace mt::cpu {
namespace {

class StripProduct : public testing::Test {
 protected:
  StripProduct() { limit_matrix_unit(MatrixUnit::pairs); }
  ~StripProduct() override { limit_matrix_unit(MatrixUnit::tiles); }
};

TEST_F(StripProduct, TheBitsAreThoseOfTheirOrder) {
  Random random(1);
  const auto expect_in_order = [&](const Contraction& c) {
    EXPECT_EQ(cpu::StripProduct::serves(c), matrix_unit() == MatrixUnit::pairs);
    check(c, random, {1, 2, 7});
  };
  for (int layout = 0; layout < 4; ++layout) {
    for (int64_t m : {5, 8, 17, 64}) {
      const Matrices s{1, m, 401, 103, bool(layout & 1), bool(layout & 2), layout == 3 ? 3 : 0};
      expect_in_order(of_bfloat16(s, layout % 2 ? Dtype::float32 : Dtype::bfloat16));
    }
    // More terms than are packed at a time, and columns that fill all panels.
    expect_in_order(of_bfloat16({1, 9, 96, 1100, true, bool(layout & 2)}, Dtype::bfloat16));
    expect_in_order(of_bfloat16({3, 33, 64, 160, bool(layout & 1), true}, Dtype::float32));
  }
  expect_in_order(of_bfloat16({1, 6, 5000, 8}, Dtype::bfloat16));
  for (int64_t n : {5, 10, 16, 17}) {  // columns, of which a vector or two are left empty
    expect_in_order(of_bfloat16({1, 60, n, 1100, true, n == 10}, Dtype::bfloat16));
  }
  // Many entries, of which each is one thread's.
  for (int layout = 0; layout < 4; ++layout) {
    const Matrices s{17, 70, 65, 71, bool(layout & 1), bool(layout & 2)};
    expect_in_order(of_bfloat16(s, layout % 2 ? Dtype::float32 : Dtype::bfloat16));
  }
  expect_in_order(of_bfloat16({40, 7, 300, 130}, Dtype::bfloat16));
  expect_in_order(of_bfloat16({33, 66, 64, 64, true, true}, Dtype::bfloat16));
  // In panels.
  expect_in_order(of_bfloat16({2, 17, 500, 4100, false}, Dtype::bfloat16));
  expect_in_order(of_bfloat16({1, 5, 33, 9000, true, true}, Dtype::float32));
  // Of windows, whose positions lie in parts of lines.
  for (const Windows& w :
       {Windows{2, 64, 7, 12, 60, 3}, {17, 66, 5, 16, 16, 3}, {1, 6, 9, 40, 9, 5}}) {
    expect_in_order(w.contraction(Dtype::bfloat16));
  }
}

TEST_F(StripProduct, OthersAreNotServed) {
  for (const Matrices& s : {Matrices{1, 4, 512, 512},
                            {1, 65, 512, 512},
                            {15, 65, 512, 512},
                            {16, 257, 512, 512},
                            {1, 8, 4, 40000},
                            {1, 8, 4000, 7},
                            {1, 8, 100, 100}}) {
    EXPECT_FALSE(cpu::StripProduct::serves(of_bfloat16(s, Dtype::bfloat16)));
  }
  EXPECT_FALSE(
      cpu::StripProduct::serves(Matrices{1, 8, 512, 512}.contraction(Precision::bfloat16)));
}

TEST_F(StripProduct, EpiloguesSeeEachElementOnce) {
  for (const Matrices& s : {Matrices{1, 8, 700, 90}, {3, 33, 64, 160, true, true}}) {
    const Contraction c = of_bfloat16(s, Dtype::float32);
    const auto a = rounded(uniform(s.batch * s.a_size(), 2));
    const auto b = rounded(uniform(s.batch * s.b_size(), 3));
    auto expected = product(c, a, b, 2);
    for (float& x : expected) x *= x;
    EXPECT_TRUE(same_bits(product(c, a, b, 2, true), expected));
  }
}

// Numbers of very different size, that cancel, or that pairs treat otherwise, in some columns.
TEST_F(StripProduct, AnyNumbersAreStrict) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (bool along_k : {false, true}) {
    const Matrices s{along_k ? 2 : 28, 12, 300, 161, true, along_k};
    const Contraction c = of_bfloat16(s, along_k ? Dtype::float32 : Dtype::bfloat16);
    std::mt19937 random(4);
    for (int range : {0, 6, 49, 60, 126}) {
      for (float odd : {1.0f, infinity, NAN, 1e-40f, 1e-38f, -0.0f, 3e38f}) {
        for (bool in_a : {false, true}) {
          std::vector<float> a(static_cast<size_t>(s.batch * s.a_size()));
          std::vector<float> b(static_cast<size_t>(s.batch * s.b_size()));
          for (auto* x : {&a, &b}) {
            for (float& value : *x) {
              const int exponent =
                  range == 0 ? 0 : static_cast<int>(random() % (2 * range)) - range;
              value = std::ldexp(float(int(random() % 255) - 127) / 128, exponent);
            }
          }
          (in_a ? a[size_t(s.a_at(1, 7, 40))] : b[size_t(s.b_at(1, 77, 40))]) = odd;
          limit_matrix_unit(MatrixUnit::pairs);
          const auto out = product(c, rounded(a), rounded(b), 2);
          limit_matrix_unit(MatrixUnit::none);
          const auto strict = product(c, rounded(a), rounded(b), 2);
          for (size_t i = 0; i < out.size(); ++i) {
            ASSERT_TRUE(std::isnan(strict[i])
                            ? std::isnan(out[i])
                            : std::memcmp(&out[i], &strict[i], sizeof(float)) == 0)
                << "range " << range << ", " << odd << ": " << out[i] << " and " << strict[i];
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace mt::cpu
