// SPDX-License-Identifier: Apache-2.0
// What C says of NaN, infinities, signed zeros and the edges of domains.
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "ops/math/scalar.h"

namespace mt {
namespace {

template <class T>
std::vector<T> special_values() {
  using limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (T x : {T(0), limits::denorm_min(), limits::min() / 4, limits::min(), T(0.25), T(0.5), T(1),
              T(1) + limits::epsilon(), T(1.5), T(2), T(3), T(4), T(1000), T(1) / limits::epsilon(),
              limits::max(), limits::infinity()}) {
    values.push_back(x);
    values.push_back(-x);
  }
  values.push_back(limits::quiet_NaN());
  return values;
}

// The same to a few bits: NaN for NaN, and zeros and infinities with their signs.
template <class T>
testing::AssertionResult agree(T got, T want) {
  bool same =
      std::isnan(want) ? std::isnan(got)
      : std::isinf(want) || want == 0
          ? got == want && std::signbit(got) == std::signbit(want)
          : std::abs(got - want) <= std::max(std::abs(want) * std::numeric_limits<T>::epsilon() * 2,
                                             std::numeric_limits<T>::denorm_min());
  if (same) return testing::AssertionSuccess();
  return testing::AssertionFailure() << std::hexfloat << got << " is not " << want;
}

template <class T>
void check_all() {
  for (T x : special_values<T>()) {
#define MT_CHECK(name) EXPECT_TRUE(agree<T>(scalar::name(x), std::name(x))) << #name << " of " << x
    MT_CHECK(exp);
    MT_CHECK(exp2);
    MT_CHECK(expm1);
    MT_CHECK(log);
    MT_CHECK(log2);
    MT_CHECK(log10);
    MT_CHECK(log1p);
    MT_CHECK(sin);
    MT_CHECK(cos);
    MT_CHECK(tan);
    MT_CHECK(asin);
    MT_CHECK(acos);
    MT_CHECK(atan);
    MT_CHECK(sinh);
    MT_CHECK(cosh);
    MT_CHECK(tanh);
    MT_CHECK(asinh);
    MT_CHECK(acosh);
    MT_CHECK(atanh);
    MT_CHECK(erf);
#undef MT_CHECK
    T sign = x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x;
    EXPECT_TRUE(agree<T>(scalar::sign(x), sign)) << "sign of " << x;
    for (T y : special_values<T>()) {
#define MT_CHECK(name) \
  EXPECT_TRUE(agree<T>(scalar::name(x, y), std::name(x, y))) << #name << " of " << x << ", " << y
      MT_CHECK(pow);
      MT_CHECK(atan2);
      MT_CHECK(hypot);
      MT_CHECK(nextafter);
#undef MT_CHECK
      bool any_nan = std::isnan(x) || std::isnan(y);
      T larger = any_nan ? std::numeric_limits<T>::quiet_NaN() : std::max(x, y);
      EXPECT_EQ(std::isnan(scalar::max(x, y)), any_nan);
      if (!any_nan) {
        EXPECT_EQ(scalar::max(x, y), larger);
        EXPECT_EQ(scalar::min(x, y), std::min(x, y));
      }
      T sum = scalar::logaddexp(x, y);
      EXPECT_EQ(std::isnan(sum), any_nan) << x << ", " << y;
      if (!any_nan) {
        EXPECT_GE(sum, larger);
      }
    }
  }
}

TEST(MathSpecialValues, Float32) { check_all<float>(); }
TEST(MathSpecialValues, Float64) { check_all<double>(); }

TEST(MathSpecialValues, Sigmoid) {
  EXPECT_EQ(scalar::sigmoid(0.0), 0.5);
  EXPECT_EQ(scalar::sigmoid(INFINITY), 1.0f);
  EXPECT_EQ(scalar::sigmoid(-INFINITY), 0.0f);
  EXPECT_TRUE(std::isnan(scalar::sigmoid(NAN)));
  EXPECT_EQ(scalar::sigmoid(-100.0f), std::exp(-100.0f));  // subnormal
}

// As Python computes a // b and a % b, but floor(a / b) where either is infinite.
template <class T>
void check_division() {
  for (T a : special_values<T>()) {
    for (T b : special_values<T>()) {
      T rest = std::fmod(a, b), quotient;
      if (b == 0 || std::isinf(b) || std::isinf(a)) {
        quotient = std::floor(a / b);
        if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
        if (rest == 0) rest = std::copysign(T(0), b);
      } else if (std::isnan(rest)) {
        quotient = rest;
      } else {
        quotient = (a - rest) / b;
        if (rest != 0 && (rest < 0) != (b < 0)) {
          rest += b;
          quotient -= 1;
        }
        if (rest == 0) rest = std::copysign(T(0), b);
        T whole = std::floor(quotient);
        quotient = quotient == 0               ? std::copysign(T(0), a / b)
                   : quotient - whole > T(0.5) ? whole + 1
                                               : whole;
      }
      EXPECT_TRUE(agree(scalar::remainder(a, b), rest)) << std::hexfloat << a << " % " << b;
      EXPECT_TRUE(agree(scalar::floor_divide(a, b), quotient)) << std::hexfloat << a << " // " << b;
    }
  }
}
TEST(MathSpecialValues, Division) {
  check_division<float>();
  check_division<double>();
}
TEST(MathSpecialValues, DivisionOfOrdinaryNumbers) {
  EXPECT_EQ(scalar::floor_divide(7.0, 2.0), 3.0);
  EXPECT_EQ(scalar::floor_divide(-7.0, 2.0), -4.0);
  EXPECT_EQ(scalar::remainder(-7.0, 2.0), 1.0);
  EXPECT_EQ(scalar::remainder(7.0, -2.0), -1.0);
  EXPECT_EQ(scalar::remainder(1e300, 7.0), std::fmod(1e300, 7.0));
  EXPECT_EQ(scalar::floor_divide(1.0, 0.1), 9.0);  // 0.1 is a little more than a tenth
  for (int a = -300; a <= 300; ++a) {
    for (int b : {-7, -3, -1, 1, 2, 5, 10}) {
      EXPECT_EQ(scalar::floor_divide<float>(a, b), std::floor(a / static_cast<double>(b)));
      EXPECT_EQ(scalar::remainder<float>(a, b), a - b * std::floor(a / static_cast<double>(b)));
    }
  }
}

TEST(MathIntegers, NeverTrap) {
  constexpr int32_t low = INT32_MIN, high = INT32_MAX;
  EXPECT_EQ(integer::add(high, 1), low);
  EXPECT_EQ(integer::multiply(low, -1), low);
  EXPECT_EQ(integer::floor_divide(low, -1), low);
  EXPECT_EQ(integer::remainder(low, -1), 0);
  EXPECT_EQ(integer::floor_divide(5, 0), 0);
  EXPECT_EQ(integer::remainder(5, 0), 0);
  EXPECT_EQ(integer::floor_divide(-7, 2), -4);
  EXPECT_EQ(integer::remainder(-7, 2), 1);
  EXPECT_EQ(integer::remainder(7, -2), -1);
  EXPECT_EQ(integer::floor_divide(uint64_t{7}, uint64_t{2}), 3u);
  EXPECT_EQ(integer::shift_left(1, 31), low);
  EXPECT_EQ(integer::shift_left(1, 32), 0);
  EXPECT_EQ(integer::shift_left(1, -1), 0);
  EXPECT_EQ(integer::shift_right(-8, 1), -4);
  EXPECT_EQ(integer::shift_right(-8, 99), -1);
  EXPECT_EQ(integer::shift_right(8, 99), 0);
  EXPECT_EQ(integer::pow(3, 5), 243);
  EXPECT_EQ(integer::pow(0, 0), 1);
  EXPECT_EQ(integer::pow(2, -1), 0);
  EXPECT_EQ(integer::pow(-1, -3), -1);
  EXPECT_EQ(integer::pow(int64_t{-1}, int64_t{-4}), 1);
  EXPECT_EQ(integer::pow(uint64_t{2}, uint64_t{64}), 0u);
}

}  // namespace
}  // namespace mt
