// SPDX-License-Identifier: Apache-2.0
// Each function against long double, over every exponent and densely where it is curved. The error
// is counted in units of the last place of the true value.
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "ops/math/scalar.h"

namespace mt {
namespace {

using Long = long double;

template <class T>
double ulps(T got, Long want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  T nearest = static_cast<T>(want);
  if (got == nearest) return std::isinf(got) ? 0 : std::min(1.0, static_cast<double>(0.5));
  if (std::isnan(got) || std::isinf(got) || std::isinf(nearest)) return INFINITY;
  int exponent;
  std::frexp(want, &exponent);
  using limits = std::numeric_limits<T>;
  int last = std::max(exponent - limits::digits, limits::min_exponent - limits::digits);
  return static_cast<double>(std::abs(static_cast<Long>(got) - want) / std::ldexp(Long{1}, last));
}

struct Function {
  const char* name;
  float (*single)(float);
  double (*wide)(double);
  Long (*reference)(Long);
  double low, high;  // where to look densely
  double bound;
};

Long sigmoid_reference(Long x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

#define MT_FUNCTION(name, low, high, bound)                   \
  {                                                           \
#name, scalar::name < float>, scalar::name < double>,     \
        [](Long x) { return std::name(x); }, low, high, bound \
  }
const Function functions[] = {
    MT_FUNCTION(exp, -10, 10, 1.0),
    MT_FUNCTION(exp2, -10, 10, 1.0),
    MT_FUNCTION(expm1, -2, 2, 1.2),
    MT_FUNCTION(log, 0, 3, 1.0),
    MT_FUNCTION(log2, 0, 3, 1.3),
    MT_FUNCTION(log10, 0, 3, 1.2),
    MT_FUNCTION(log1p, -1, 2, 1.2),
    MT_FUNCTION(sin, -10, 10, 1.6),
    MT_FUNCTION(cos, -10, 10, 1.6),
    MT_FUNCTION(tan, -10, 10, 1.0),
    MT_FUNCTION(asin, -1, 1, 1.2),
    MT_FUNCTION(acos, -1, 1, 1.0),
    MT_FUNCTION(atan, -4, 4, 1.4),
    MT_FUNCTION(sinh, -4, 4, 1.0),
    MT_FUNCTION(cosh, -4, 4, 1.0),
    MT_FUNCTION(tanh, -4, 4, 1.5),
    MT_FUNCTION(asinh, -4, 4, 1.2),
    MT_FUNCTION(acosh, 1, 4, 1.0),
    MT_FUNCTION(atanh, -1, 1, 1.0),
    MT_FUNCTION(erf, -4, 4, 1.3),
    {"sigmoid", scalar::sigmoid<float>, scalar::sigmoid<double>, sigmoid_reference, -20, 20, 1.7},
};
#undef MT_FUNCTION

template <class T>
T number(int exponent, bool negative, uint64_t mantissa) {
  using Pattern = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int width = std::numeric_limits<T>::digits - 1;
  Pattern pattern = static_cast<Pattern>(mantissa) & ((Pattern{1} << width) - 1);
  pattern |= static_cast<Pattern>(exponent) << width;
  pattern |= static_cast<Pattern>(negative) << (sizeof(T) * 8 - 1);
  return scalar::from_bits<T>(pattern);
}

template <class T, class F>
void measure(const Function& function, F f) {
  std::mt19937_64 random(7);
  double worst = 0;
  T at = 0;
  auto probe = [&](T x) {
    double error = ulps(f(x), function.reference(x));
    if (error > worst) worst = error, at = x;
  };
  constexpr int exponents = sizeof(T) == 4 ? 255 : 2047;
  for (int i = 0; i < 40000; ++i) {
    uint64_t bits = random();
    probe(number<T>(i % exponents, bits >> 63, i < 2 * exponents ? 0 : bits));
    Long part = std::ldexp(static_cast<Long>(random() >> 11), -53);
    probe(static_cast<T>(function.low + (function.high - function.low) * part));
  }
  EXPECT_LE(worst, function.bound) << function.name << " at " << std::hexfloat << at;
  testing::Test::RecordProperty(function.name, std::to_string(worst));
}

TEST(MathAccuracy, Float32) {
  for (const Function& function : functions) measure<float>(function, function.single);
}
TEST(MathAccuracy, Float64) {
  for (const Function& function : functions) measure<double>(function, function.wide);
}

template <class T>
void measure_two(const char* name, T (*f)(T, T), Long (*reference)(Long, Long), double bound,
                 bool positive, double spread) {
  std::mt19937_64 random(11);
  double worst = 0;
  T at_a = 0, at_b = 0;
  for (int i = 0; i < 60000; ++i) {
    // Magnitudes spread evenly over exponents, up to all that the type has.
    auto draw = [&](double range) {
      std::uniform_real_distribution<double> exponent(-range, range);
      T x = static_cast<T>(std::exp2(exponent(random)));
      return !positive && random() % 2 ? -x : x;
    };
    double limit = std::numeric_limits<T>::max_exponent - 2;
    T a = draw(i % 2 ? limit : 4), b = draw(i % 3 ? spread : limit);
    double error = ulps(f(a, b), reference(a, b));
    if (error > worst) worst = error, at_a = a, at_b = b;
  }
  EXPECT_LE(worst, bound) << name << " at " << std::hexfloat << at_a << ", " << at_b;
}

TEST(MathAccuracy, OfTwoArguments) {
  measure_two<float>(
      "pow", scalar::pow<float>, [](Long a, Long b) { return std::pow(a, b); }, 1.0, true, 7);
  measure_two<double>(
      "pow", scalar::pow<double>, [](Long a, Long b) { return std::pow(a, b); }, 1.2, true, 10);
  measure_two<float>(
      "hypot", scalar::hypot<float>, [](Long a, Long b) { return std::hypot(a, b); }, 1.0, false,
      4);
  measure_two<double>(
      "hypot", scalar::hypot<double>, [](Long a, Long b) { return std::hypot(a, b); }, 1.2, false,
      4);
  measure_two<float>(
      "atan2", scalar::atan2<float>, [](Long a, Long b) { return std::atan2(a, b); }, 1.7, false,
      4);
  measure_two<double>(
      "atan2", scalar::atan2<double>, [](Long a, Long b) { return std::atan2(a, b); }, 1.7, false,
      4);
}

// Where the reduction by pi/2 cancels most.
template <class T>
void near_multiples_of_half_pi() {
  double worst = 0, worst_tangent = 0;
  for (int k = 1; k < 30000; ++k) {
    T nearest = static_cast<T>(k * Long{1.5707963267948966192313216916397514L});
    for (T x : {nearest, std::nextafter(nearest, T(0)), std::nextafter(nearest, T(1e9))}) {
      worst = std::max(worst, ulps(scalar::sin(x), std::sin(static_cast<Long>(x))));
      worst = std::max(worst, ulps(scalar::cos(x), std::cos(static_cast<Long>(x))));
      Long tangent = std::tan(static_cast<Long>(x));
      worst_tangent = std::max(worst_tangent, ulps(scalar::tan(x), tangent));
    }
  }
  EXPECT_LE(worst, 1.6);
  EXPECT_LE(worst_tangent, 1.0);
}
TEST(MathAccuracy, NearMultiplesOfHalfPi) {
  near_multiples_of_half_pi<float>();
  near_multiples_of_half_pi<double>();
}

// A sum that may cancel: the error is measured against the larger operand.
TEST(MathAccuracy, LogAddExp) {
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> value(-50, 50);
  for (int i = 0; i < 20000; ++i) {
    double a = value(random), b = value(random);
    Long larger = std::max(a, b);
    Long want = larger + std::log1p(std::exp(-std::abs(Long{a} - b)));
    double scale = std::max<double>(std::abs(static_cast<double>(larger)), 1);
    EXPECT_NEAR(scalar::logaddexp(a, b), static_cast<double>(want), 3e-16 * scale);
  }
}

TEST(MathAccuracy, PowerOfTwoNearEveryInteger) {
  for (int k = -1074; k < 1024; ++k) {
    EXPECT_EQ(scalar::exp2<double>(k), std::ldexp(1.0, k));
    EXPECT_EQ(scalar::log2(std::ldexp(1.0, k)), k);
    EXPECT_EQ(scalar::pow<double>(2, k), std::ldexp(1.0, k));
  }
}

}  // namespace
}  // namespace mt
