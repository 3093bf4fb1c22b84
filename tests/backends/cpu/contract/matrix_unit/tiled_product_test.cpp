// SPDX-License-Identifier: Apache-2.0
// Products in precision modes on each matrix unit that there is: their error against float64, what
// is refused and computed strictly, and that the bits depend on nothing else. Without a unit they
// are strict, bit for bit; those of bfloat16 always.
#include "backends/cpu/contract/matrix_unit/tiled_product.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "backends/cpu/contract/contract_check.h"
#include "backends/cpu/contract/matrix_unit/matrices.h"
#include "backends/cpu/contract/matrix_unit/matrix_unit.h"

namespace mt::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// The largest error in terms of the sum of absolute products, over some of the elements.
double error(const Matrices& s, const std::vector<float>& a, const std::vector<float>& b,
             const std::vector<float>& out) {
  double most = 0;
  const int64_t count = s.batch * s.m * s.n, step = std::max<int64_t>(1, count / 2000) | 1;
  for (int64_t at = 0; at < count; at += step) {
    const int64_t i = at / s.n / s.m, row = at / s.n % s.m, column = at % s.n;
    double sum = 0, absolute = 0;
    for (int64_t j = 0; j < s.k; ++j) {
      const double x = double(a[size_t(s.a_at(i, row, j))]) * b[size_t(s.b_at(i, column, j))];
      sum += x;
      absolute += std::abs(x);
    }
    most = std::max(most, std::abs(out[size_t(at)] - sum) / absolute);
  }
  return most;
}

constexpr Matrices shapes[] = {
    {1, 128, 128, 128},
    {1, 257, 131, 99},
    {1, 33, 1025, 300, true, true},
    {1, 600, 520, 70, false, false},
    {1, 97, 159, 1100, false, true},
    {1, 1100, 65, 2050, true, true, 3},
    {1, 160, 160, 160, false, false, 5},
    {5, 100, 170, 130},
    {3, 65, 200, 300, false, true, 1},
};

class TiledProduct : public testing::Test {
 protected:
  void TearDown() override { limit_matrix_unit(MatrixUnit::tiles); }

  // Calls f(precision) for the modes of each unit.
  template <class F>
  void in_every_mode(F&& f) {
    if (matrix_unit() == MatrixUnit::none) GTEST_SKIP() << "this processor has no matrix unit";
    for (MatrixUnit unit : {MatrixUnit::pairs, MatrixUnit::tiles}) {
      limit_matrix_unit(unit);
      if (matrix_unit() != unit) continue;
      for (Precision precision : {Precision::split, Precision::bfloat16}) {
        if (unit >= cpu::TiledProduct::unit_for(precision)) f(precision);
      }
    }
  }
};

TEST_F(TiledProduct, ErrorsAreBelowWhatTheModesPromise) {
  in_every_mode([&](Precision precision) {
    for (const Matrices& s : shapes) {
      const auto a = uniform(s.batch * s.a_size(), 1), b = uniform(s.batch * s.b_size(), 2);
      const Contraction c = s.contraction(precision);
      ASSERT_TRUE(cpu::TiledProduct::serves(c));
      const auto out = product(c, a, b, 1);
      const double found = error(s, a, b, out);
      const double bound = precision == Precision::split ? 2e-7 : 4e-3;
      EXPECT_LT(found, bound) << s.m << " x " << s.n << " x " << s.k;
      // Rounding to bfloat16 is to be seen, or it is the wrong mode that ran.
      EXPECT_TRUE(precision == Precision::split || found > 1e-5);
      EXPECT_FALSE(same_bits(out, product(s.contraction(Precision::strict), a, b, 1)));
      for (int threads : {2, 3}) EXPECT_TRUE(same_bits(product(c, a, b, threads), out));
    }
  });
}

TEST_F(TiledProduct, SplitIsExactForSmallIntegersAndKeepsAllBits) {
  const Matrices s{1, 64, 96, 512};
  auto a = uniform(s.a_size(), 3), b = uniform(s.b_size(), 4);
  for (float& x : a) x = std::round(x * 2000);
  for (float& x : b) x = std::round(x * 4);
  const auto strict = product(s.contraction(Precision::strict), a, b, 1);
  EXPECT_EQ(product(s.contraction(Precision::split), a, b, 2), strict);
  // Times the unit matrix, every number comes back whole.
  const Matrices u{1, 256, 256, 256};
  const auto x = uniform(u.a_size(), 5);
  std::vector<float> unit(static_cast<size_t>(u.b_size()), 0.0f);
  for (int64_t i = 0; i < 256; ++i) unit[static_cast<size_t>(i * 257)] = 1;
  EXPECT_EQ(product(u.contraction(Precision::split), x, unit, 1), x);
}

TEST_F(TiledProduct, EpiloguesSeeEachElementOnce) {
  in_every_mode([&](Precision precision) {
    for (const Matrices& s : shapes) {
      const auto a = uniform(s.batch * s.a_size(), 6), b = uniform(s.batch * s.b_size(), 7);
      auto expected = product(s.contraction(precision), a, b, 2);
      for (float& x : expected) x *= x;
      EXPECT_TRUE(same_bits(product(s.contraction(precision), a, b, 2, true), expected));
    }
  });
}

// Numbers that the unit would not treat as float32 does make their batch entry a strict one.
TEST_F(TiledProduct, UnusualNumbersAreComputedStrictly) {
  const Matrices s{3, 130, 120, 160};
  const auto ordinary_a = uniform(s.batch * s.a_size(), 8);
  const auto ordinary_b = uniform(s.batch * s.b_size(), 9);
  const size_t entry = static_cast<size_t>(s.m * s.n);
  in_every_mode([&](Precision precision) {
    const Contraction c = s.contraction(precision), strict = s.contraction(Precision::strict);
    for (float odd : {infinity, -infinity, NAN, 1e-40f, -1e-44f, 1e-33f, 3.4e38f, -2e38f}) {
      for (bool in_a : {true, false}) {
        auto a = ordinary_a, b = ordinary_b;
        (in_a ? a : b)[static_cast<size_t>(in_a ? s.a_at(1, 77, 40) : s.b_at(1, 77, 40))] = odd;
        for (bool squared : {false, true}) {
          const auto out = product(c, a, b, 2, squared);
          const auto whole = product(c, ordinary_a, ordinary_b, 2, squared);
          const auto exact = product(strict, a, b, 2, squared);
          EXPECT_EQ(std::memcmp(&out[entry], &exact[entry], entry * sizeof(float)), 0) << odd;
          EXPECT_EQ(std::memcmp(&out[0], &whole[0], entry * sizeof(float)), 0) << odd;
          EXPECT_EQ(std::memcmp(&out[2 * entry], &whole[2 * entry], entry * sizeof(float)), 0);
        }
      }
    }
  });
}

// Each number is ordinary, but their products are not.
TEST_F(TiledProduct, ProductsOutOfRangeAreComputedStrictly) {
  const Matrices s{1, 128, 128, 256};
  for (auto [scale_a, scale_b] : {std::pair{1e25f, 1e20f},
                                  {1e19f, 1e19f},
                                  {1e-25f, 1e-20f},
                                  {1e-18f, 1e-18f},
                                  {1e30f, 1e5f}}) {
    auto a = uniform(s.a_size(), 10), b = uniform(s.b_size(), 11);
    for (float& x : a) x *= scale_a;
    for (float& x : b) x *= scale_b;
    const bool large = scale_a * scale_b > 1;
    const auto strict = product(s.contraction(Precision::strict), a, b, 1);
    in_every_mode([&](Precision precision) {
      const auto out = product(s.contraction(precision), a, b, 1);
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(std::isfinite(out[i]), std::isfinite(strict[i]));
        ASSERT_EQ(std::isnan(out[i]), std::isnan(strict[i]));
      }
      EXPECT_TRUE(large || same_bits(out, strict));
    });
  }
}

TEST_F(TiledProduct, ZerosAndVeryDifferentNumbersArePartOfTheMode) {
  if (matrix_unit() < MatrixUnit::tiles) GTEST_SKIP() << "this processor has no AMX";
  const Matrices s{1, 130, 140, 500};
  auto a = uniform(s.a_size(), 12), b = uniform(s.b_size(), 13);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = i % 3 == 0 ? 0.0f : a[i] * std::exp2(float(i % 40) - 20);
  }
  for (size_t i = 0; i < b.size(); ++i) b[i] = i % 5 == 0 ? -0.0f : b[i];
  const auto out = product(s.contraction(Precision::split), a, b, 1);
  EXPECT_LT(error(s, a, b, out), 5e-7);
  EXPECT_FALSE(same_bits(out, product(s.contraction(Precision::strict), a, b, 1)));
  const std::vector<float> zeros(a.size(), 0.0f);
  for (float x : product(s.contraction(Precision::split), zeros, b, 1)) ASSERT_EQ(x, 0);
}

TEST_F(TiledProduct, WithoutAUnitTheModesAreStrict) {
  limit_matrix_unit(MatrixUnit::none);
  for (const Matrices& s : shapes) {
    const auto a = uniform(s.batch * s.a_size(), 14), b = uniform(s.batch * s.b_size(), 15);
    const auto strict = product(s.contraction(Precision::strict), a, b, 2);
    for (Precision precision : {Precision::split, Precision::bfloat16}) {
      EXPECT_TRUE(same_bits(product(s.contraction(precision), a, b, 2), strict));
    }
  }
}

TEST_F(TiledProduct, SmallThinAndOtherTypesAreStrict) {
  for (const Matrices& s : {Matrices{1, 16, 512, 512},
                            {1, 512, 8, 4000},
                            {1, 512, 512, 16},
                            {1, 40, 40, 40},
                            {100, 40, 40, 40}}) {
    EXPECT_FALSE(cpu::TiledProduct::serves(s.contraction(Precision::split)));
  }
  Contraction wide = Matrices{1, 512, 512, 512}.contraction(Precision::split);
  wide.a = wide.b = wide.out = Dtype::float64;
  EXPECT_FALSE(cpu::TiledProduct::serves(wide));
}

TEST_F(TiledProduct, OfBfloat16TheBitsAreThoseOfItsOrder) {
  limit_matrix_unit(MatrixUnit::pairs);
  Random random(16);
  const auto expect_in_order = [&](const Contraction& c) {
    EXPECT_EQ(cpu::TiledProduct::serves(c), matrix_unit() == MatrixUnit::pairs);
    check(c, random, {1, 2, 7});
  };
  for (int layout = 0; layout < 4; ++layout) {
    const Matrices s{1, 130, 131, 133, bool(layout & 1), bool(layout & 2), layout == 3 ? 3 : 0};
    expect_in_order(of_bfloat16(s, Dtype::bfloat16));
  }
  expect_in_order(of_bfloat16({3, 40, 290, 200}, Dtype::float32));
  expect_in_order(of_bfloat16({1, 290, 33, 225, false, true, 1}, Dtype::bfloat16));
  expect_in_order(of_bfloat16({1, 52, 40, 1100, false}, Dtype::float32));
  for (int64_t n : {5, 10, 16, 17}) {
    expect_in_order(of_bfloat16({1, 290, n, 1100, true, n == 10}, Dtype::bfloat16));
    expect_in_order(of_bfloat16({1, 290, n, 300, false}, Dtype::float32));
  }
  // In panels.
  expect_in_order(of_bfloat16({2, 17, 500, 4100, false}, Dtype::bfloat16));
  expect_in_order(of_bfloat16({1, 91, 92, 5500}, Dtype::float32));
  // Of windows: parts of one to eight lines of an image fill a panel, or more.
  for (const Windows& w : {Windows{3, 70, 7, 12, 60, 3},
                           {2, 66, 5, 16, 16, 3},
                           {2, 66, 9, 14, 8, 2},
                           {2, 80, 9, 21, 6, 2},
                           {2, 65, 40, 40, 5, 3},
                           {1, 129, 3, 33, 33, 7},
                           {2, 66, 7, 21, 90, 3, 2},
                           {2, 66, 7, 23, 23, 5, 2}}) {
    expect_in_order(w.contraction(Dtype::bfloat16));
    expect_in_order(w.contraction(Dtype::float32));
    expect_in_order(w.gradient(Dtype::bfloat16));
  }
}

// The left operand is packed once for all entries; it can refuse all of them, the right one its
// own.
TEST_F(TiledProduct, EntriesThatShareTheLeftOperandMayRefuse) {
  const Windows w{3, 70, 7, 12, 40, 3};
  const Contraction c = w.contraction(Dtype::float32);
  const size_t weights = size_t(w.outputs * w.channels * 9);
  const size_t image = size_t(w.image());
  for (float odd : {1.0f, infinity, 1e-40f}) {
    for (bool in_a : {true, false}) {
      auto a = rounded(uniform(int64_t(weights), 12)), b = rounded(uniform(int64_t(3 * image), 13));
      (in_a ? a[weights - 5] : b[image + 17]) =
          static_cast<uint16_t>(std::bit_cast<uint32_t>(odd) >> 16);
      limit_matrix_unit(MatrixUnit::pairs);
      const auto out = product(c, a, b, 2);
      limit_matrix_unit(MatrixUnit::none);
      const auto strict = product(c, a, b, 2);
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_TRUE(std::isnan(strict[i]) ? std::isnan(out[i]) : out[i] == strict[i]) << i;
      }
    }
  }
}

// Numbers of very different size, that cancel, or that the unit does not know.
TEST_F(TiledProduct, OfBfloat16AnyNumbersAreStrict) {
  const Matrices s{2, 130, 120, 161};
  std::mt19937 random(17);
  const auto as_bfloat16 = [](float x) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
  };
  for (int range : {0, 6, 40, 49, 60, 90, 126}) {
    for (float odd : {1.0f, infinity, NAN, 1e-40f, 1e-38f, -0.0f, 3e38f}) {
      std::vector<uint16_t> a(static_cast<size_t>(s.batch * s.a_size()));
      std::vector<uint16_t> b(static_cast<size_t>(s.batch * s.b_size()));
      for (auto* x : {&a, &b}) {
        for (uint16_t& value : *x) {
          const int exponent = range == 0 ? 0 : static_cast<int>(random() % (2 * range)) - range;
          value = as_bfloat16(std::ldexp(float(int(random() % 255) - 127) / 128, exponent));
        }
      }
      a[static_cast<size_t>(s.a_at(1, 77, 40))] = as_bfloat16(odd);
      for (Dtype type : {Dtype::float32, Dtype::bfloat16}) {
        const Contraction c = of_bfloat16(s, type);
        limit_matrix_unit(MatrixUnit::pairs);
        const auto out = product(c, a, b, 2);
        limit_matrix_unit(MatrixUnit::none);
        const auto strict = product(c, a, b, 2);
        for (size_t i = 0; i < out.size(); ++i) {
          ASSERT_TRUE(std::isnan(strict[i]) ? std::isnan(out[i])
                                            : std::memcmp(&out[i], &strict[i], sizeof(float)) == 0)
              << "range " << range << ", " << odd << ": " << out[i] << " and " << strict[i];
        }
      }
    }
  }
}

}  // namespace
}  // namespace mt::cpu
