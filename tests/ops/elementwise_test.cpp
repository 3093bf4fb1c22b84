// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "autodiff/backward.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

std::vector<double> slopes(Tensor (*activation)(const Tensor&), const Tensor& x) {
  Tensor parameter = leaf(x);
  Tensor y = activation(parameter);
  return read(gradients({y}, {ones_like(y)}, {parameter})[0]);
}
std::vector<double> gelu_slopes(const Tensor& x) { return slopes(&gelu, x); }

TEST(Activations, SlopesEndInZeroAndOne) {
  constexpr double inf = INFINITY;
  for (Device* device : {&cpu(), &reference()}) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16}) {
      Tensor x = make({6}, {-inf, -1e30, -1e3, 1e3, 1e30, inf}, dtype, *device);
      const std::vector<double> ends{0, 0, 0, 1, 1, 1};
      for (auto activation : {&silu, &gelu, &gelu_tanh}) EXPECT_EQ(slopes(activation, x), ends);
    }
  }
}

TEST(Activations, GeluEndsInZeroAndKeepsSmallTails) {
  for (Device* device : {&cpu(), &reference()}) {
    const auto gelu_at = [&](double x) {
      return read(gelu(make({1}, {x}, Dtype::float32, *device)))[0];
    };
    for (double x : {double{-INFINITY}, -1e30, -1e3}) EXPECT_EQ(gelu_at(x), 0);
    for (double x : {-4.5, -3.0, -2.0, -0.75, 0.5, 2.0, 7.0}) {
      const double expected = x * std::erfc(-x * std::sqrt(0.5)) / 2;
      EXPECT_NEAR(gelu_at(x) / expected, 1, x < -4 ? 1e-4 : 1e-6) << x;
    }
    EXPECT_TRUE(std::isnan(gelu_at(NAN)));
  }
}

// The larger the operands, the less of the slopes is in the value.
TEST(Logaddexp, SlopesAreThoseOfTheDifference) {
  constexpr float inf = INFINITY;
  Tensor a = leaf(make({4}, {20000.25, -0.5, inf, -inf})), b = leaf(make({4}, {20000, 3, 1, 1}));
  Tensor y = logaddexp(a, b);
  auto found = gradients({y}, {ones_like(y)}, {a, b});
  expect_near(found[0], {1 / (1 + std::exp(-0.25)), 1 / (1 + std::exp(3.5)), 1, 0});
  expect_near(found[1], {1 / (1 + std::exp(0.25)), 1 / (1 + std::exp(-3.5)), 0, 1});
}

// It is computed without a hyperbolic tangent.
// The slopes are about 1 / x, whose squares float32 does not hold.
TEST(Slopes, OfInverseFunctionsAreThereFarOut) {
  for (double at : {1e-30, 1e30}) {
    Tensor x = leaf(make({1}, {at}, Dtype::float32)), y = make({1}, {at}, Dtype::float32);
    auto slope = [&](const Tensor& of) { return read(gradients({of}, {}, {x})[0])[0] * at; };
    EXPECT_NEAR(slope(asinh(x)), at / std::hypot(at, 1), 1e-6);
    if (at > 1) {
      EXPECT_NEAR(slope(acosh(x)), 1, 1e-6);
    }
    EXPECT_NEAR(slope(atan2(x, y)), 0.5, 1e-6);
    EXPECT_NEAR(slope(atan2(y, x)), -0.5, 1e-6);
  }
}

TEST(Slopes, OfTheAngleAreZeroAtTheOrigin) {
  Tensor a = leaf(make({2}, {0, 3})), b = leaf(make({2}, {0, 4}));
  std::vector<Tensor> found = gradients({sum(atan2(a, b))}, {}, {a, b});
  expect_near(found[0], {0, 4 / 25.0});
  expect_near(found[1], {0, -3 / 25.0});
}

// As an operator on both makes them; floats of any type are not changed by their bounds.
TEST(Clip, FractionsBoundIntegersAsFloats) {
  Tensor x = make({3}, {-2, 0, 7}, Dtype::int32), half = number(0.5, cpu());
  for (const Tensor& low :
       {half, make({1}, {0.5}, Dtype::float64), make({1}, {0.5}, Dtype::float16)}) {
    Tensor y = clip(x, low, integer_number(5, cpu()));
    EXPECT_EQ(y.dtype(), maximum(x, low).dtype());
    expect_near(y, {0.5, 0.5, 5});
  }
  expect_near(clip(x, nullptr, half), {-2, 0, 0.5});
  expect_near(clip(x, half, make({1}, {0.75}, Dtype::float64)), {0.5, 0.5, 0.75});
  EXPECT_EQ(clip(x, integer_number(0, cpu()), nullptr).dtype(), Dtype::int32);
  EXPECT_EQ(clip(cast(x, Dtype::float16), make({1}, {1}, Dtype::float64), half).dtype(),
            Dtype::float16);
}

// An integer's bound of another integer type has the effect of its value, whatever that is.
TEST(Clip, BoundsBeyondTheTypeAreItsEnds) {
  const Dtype types[] = {Dtype::int8,  Dtype::int16,  Dtype::int32,  Dtype::int64,
                         Dtype::uint8, Dtype::uint16, Dtype::uint32, Dtype::uint64};
  const auto saturated = [](double value, Dtype dtype) {
    const int bits = 8 * static_cast<int>(size_of(dtype)) - is_signed_integer(dtype);
    const double end = std::ldexp(1.0, bits);
    return std::clamp(value, is_unsigned(dtype) ? 0.0 : -end, end - 1);
  };
  for (Dtype dtype : types) {
    for (Dtype of_bound : types) {
      for (double bound : {-4e9, -40000.0, -300.0, -1.0, 5.0, 300.0, 40000.0, 4e9}) {
        if (saturated(bound, of_bound) != bound) continue;
        const Tensor x = make({3}, {0, 5, 100}, dtype), limit = make({1}, {bound}, of_bound);
        const double at = saturated(bound, dtype);
        EXPECT_EQ(read(clip(x, limit, nullptr)),
                  (std::vector{std::max(0.0, at), std::max(5.0, at), std::max(100.0, at)}));
        EXPECT_EQ(read(clip(x, nullptr, limit)),
                  (std::vector{std::min(0.0, at), std::min(5.0, at), std::min(100.0, at)}));
        EXPECT_EQ(clip(x, limit, limit).dtype(), dtype);
      }
    }
  }
}

TEST(GeluTanh, IsWhatItsFormulaSays) {
  for (Device* device : {&cpu(), &reference()}) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
      const double error = dtype == Dtype::float32 ? 4e-7 : 1e-15;
      const Tensor x = arange(-12, 12, 1.0 / 64, dtype, *device);
      const std::vector<double> xs = read(x), ys = read(gelu_tanh(x)), dys = slopes(&gelu_tanh, x);
      for (size_t i = 0; i < xs.size(); ++i) {
        const double square = xs[i] * xs[i];
        const double t = std::tanh(std::sqrt(2 / M_PI) * xs[i] * (1 + 0.044715 * square));
        const double inner_slope = std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * square);
        EXPECT_NEAR(ys[i], xs[i] * (1 + t) / 2, error * std::max(std::abs(xs[i]), 1.0));
        EXPECT_NEAR(dys[i], (1 + t) / 2 + xs[i] * (1 - t * t) * inner_slope / 2, 4 * error);
      }
    }
  }
}

TEST(Gelu, SlopesAreNeverDenormal) {
  Tensor x = arange(-16, 16, 1.0 / 64, Dtype::float32, cpu());
  for (double slope : gelu_slopes(x)) {
    bool normal = slope == 0 || std::abs(slope) >= std::numeric_limits<float>::min();
    EXPECT_TRUE(normal) << slope;
  }
}

// Nor is anything on the way to them, which takes as long.
TEST(Gelu, SlopesComeFromNormalNumbers) {
  Tensor x = arange(-16, 16, 1.0 / 64, Dtype::float32, cpu());
  evaluate(x);
  std::feclearexcept(FE_ALL_EXCEPT);
  gelu_slopes(x);
  EXPECT_EQ(std::fetestexcept(FE_UNDERFLOW), 0);
}

// 0 to the power 0 is 1, and so is every number beside it.
TEST(Pow, IsFlatWhereTheExponentIsZero) {
  for (Device* device : {&cpu(), &reference()}) {
    for (int order : {1, 2}) {
      Tensor x = leaf(make({4}, {0, 0, 2, -3}, Dtype::float64, *device));
      Tensor exponents = make({4}, {0, 2, 0, 0}, Dtype::float64, *device);
      const std::vector<double> curvature{0, 2, 0, 0};
      for (const Tensor& exponent : {exponents, number(0.0, *device)}) {
        Tensor slope = pow(x, exponent);
        for (int i = 0; i < order; ++i) {
          slope = gradients({slope}, {ones_like(slope)}, {x})[0];
        }
        const bool curved = order == 2 && exponent->shape.rank() == 1;
        EXPECT_EQ(read(slope), curved ? curvature : std::vector<double>(4));
      }
    }
  }
}

// Also beside NaN; and the slope by the exponent there, 1 / x, is not lost.
TEST(Pow, OfAnythingIsFlatWhereTheExponentIsZero) {
  constexpr double inf = INFINITY;
  for (Device* device : {&cpu(), &reference()}) {
    Tensor x = leaf(make({4}, {NAN, inf, -inf, 2}, Dtype::float64, *device));
    Tensor exponents = leaf(make({4}, {0, 0, 0, 0}, Dtype::float64, *device));
    Tensor y = pow(x, exponents);
    Tensor slope = gradients({y}, {ones_like(y)}, {x})[0];
    EXPECT_EQ(read(slope), std::vector<double>(4));
    EXPECT_EQ(read(gradients({slope}, {ones_like(slope)}, {exponents})[0])[3], 0.5);
    Tensor power = pow(x, number(0.0, *device));
    EXPECT_EQ(read(gradients({power}, {ones_like(power)}, {x})[0]), std::vector<double>(4));
  }
}

TEST(Numbers, ComparedBeyondTheTypeAreWhatTheyAre) {
  for (Dtype dtype : {Dtype::uint8, Dtype::int8, Dtype::uint32, Dtype::int32, Dtype::uint64}) {
    Tensor x = make({2}, {0, 100}, dtype), low = integer_number(-(int64_t{1} << 40), cpu()),
           high = integer_number(int64_t{1} << 40, cpu());
    std::vector<double> yes{1, 1}, no{0, 0};
    EXPECT_EQ(read(greater(x, low)), yes);
    EXPECT_EQ(read(less_equal(x, low)), no);
    EXPECT_EQ(read(less(x, high)), yes);
    EXPECT_EQ(read(less(high, x)), no);
    EXPECT_EQ(read(equal(x, high)), no);
    EXPECT_EQ(read(not_equal(x, low)), yes);
  }
}

TEST(Numbers, ThatDoNotFitAreRefused) {
  struct {
    Dtype dtype;
    int64_t smallest, largest;
  } ranges[] = {{Dtype::uint8, 0, 255},
                {Dtype::int8, -128, 127},
                {Dtype::uint16, 0, 65535},
                {Dtype::int32, INT32_MIN, INT32_MAX},
                {Dtype::uint32, 0, UINT32_MAX}};
  for (auto [dtype, smallest, largest] : ranges) {
    Tensor x = make({1}, {1}, dtype), zero = integer_number(0, cpu());
    for (int64_t fits : {smallest, largest}) {
      EXPECT_EQ(read(maximum(mul(x, zero), integer_number(fits, cpu())))[0],
                static_cast<double>(std::max<int64_t>(fits, 0)));
    }
    for (int64_t beyond : {smallest - 1, largest + 1}) {
      Tensor number = integer_number(beyond, cpu());
      EXPECT_NE(message_of([&] {
                  add(x, number);
                }).find("add: the number " + std::to_string(beyond) + " does not fit into"),
                std::string::npos);
      EXPECT_NE(message_of([&] { where(equal(x, zero), x, number); }), "");
      EXPECT_NE(message_of([&] { clip(x, number, nullptr); }), "");
      EXPECT_NE(message_of([&] { index_put(x, {}, number); }), "");
    }
  }
  EXPECT_NE(message_of([] { mul(make({1}, {1}, Dtype::uint64), integer_number(-1, cpu())); }), "");
}

TEST(Nextafter, IsTheNextNumberOfItsType) {
  const std::vector<double> from = {1, 0, -1, INFINITY, 0x1p-126}, to = {2, 1, 1, 0, 0};
  for (Device* device : {&cpu(), &reference()}) {
    auto next = [&](Dtype dtype) {
      return nextafter(make({5}, from, dtype, *device), make({5}, to, dtype, *device));
    };
    const std::vector<double> narrow = read(next(Dtype::float32));
    const std::vector<double> wide = read(next(Dtype::float64));
    for (size_t i = 0; i < from.size(); ++i) {
      EXPECT_EQ(narrow[i], std::nextafter(static_cast<float>(from[i]), static_cast<float>(to[i])));
      EXPECT_EQ(wide[i], std::nextafter(from[i], to[i]));
    }
    for (Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
      EXPECT_NE(message_of([&] { next(dtype); }).find(name_of(dtype)), std::string::npos);
    }
  }
}

TEST(Power, OfIntegersToANegativeNumberIsRefused) {
  Tensor x = make({1}, {2}, Dtype::int32);
  EXPECT_NE(message_of([&] { pow(x, integer_number(-1, cpu())); }).find("int32 to the power of -1"),
            std::string::npos);
  EXPECT_EQ(read(pow(x, number(-1, cpu())))[0], 0.5);
  EXPECT_EQ(read(pow(cast(x, Dtype::float64), integer_number(-1, cpu())))[0], 0.5);
}

// Numbers near the ends of the range, where a square overflows or is denormal though the power is
// not, and two hundred between.
Tensor bases(Dtype dtype) {
  constexpr double inf = INFINITY;
  std::vector<double> x = {0,    -0.0,  inf,     -inf,     NAN,  1,  -1,
                           3e19, 1e-20, 0x1p-64, -0x1p-70, 3e38, 250};
  for (int i = 1; i <= 200; ++i) x.push_back((i % 3 - 1.5) * 0.0137 * i);
  return make({static_cast<int64_t>(x.size())}, x, dtype);
}

// The distance of the float below y to the next one, of `digits` binary digits and no less than
// `least`.
double last_place(double y, int digits, double least) {
  return std::fmax(std::ldexp(1.0, std::ilogb(y) - digits + 1), least);
}

TEST(Power, OfAPlainNumberIsWithinTwoUnitsAndHasThePowersOfOneThatIsNot) {
  struct {
    Dtype dtype;
    int digits;
    double least;
  } constexpr kinds[] = {{Dtype::float16, 11, 0x1p-24},
                         {Dtype::bfloat16, 8, 0x1p-133},
                         {Dtype::float32, 24, 0x1p-149},
                         {Dtype::float64, 53, 0x1p-1074}};
  for (const auto& kind : kinds) {
    const Tensor x = bases(kind.dtype);
    const std::vector<double> base = read(x);
    for (double exponent : {-2.0, -1.0, -0.5, 0.5, 2.0, 3.0, 4.0}) {
      const Tensor y = pow(x, number(exponent, cpu()));
      EXPECT_EQ(y.dtype(), kind.dtype);
      EXPECT_STRNE(y->op->name, "pow");
      const std::vector<double> by_number = read(y);
      const std::vector<double> by_tensor = read(pow(x, full({1}, exponent, kind.dtype, cpu())));
      for (size_t i = 0; i < base.size(); ++i) {
        SCOPED_TRACE(std::to_string(base[i]) + " ** " + std::to_string(exponent) + " of " +
                     name_of(kind.dtype));
        const double a = by_number[i], b = by_tensor[i];
        if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) {
          EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " " << b;
          EXPECT_TRUE(std::isnan(a) || std::signbit(a) == std::signbit(b)) << a << " " << b;
          continue;
        }
        const long double exact = std::pow(static_cast<long double>(base[i]), exponent);
        const double error = static_cast<double>(std::fabs(a - exact));
        const bool one_operator = size_of(kind.dtype) == 2 && exponent != -0.5;
        const double most = one_operator ? 0.501 : 2;
        EXPECT_LE(error, most * last_place(b, kind.digits, kind.least)) << a << " " << b;
      }
    }
  }
}

TEST(Power, OfIntegersToAPlainNumberWraps) {
  for (Dtype dtype : {Dtype::int8, Dtype::uint8, Dtype::int32, Dtype::uint32, Dtype::int64}) {
    const Tensor x = make({6}, {0, 1, 2, 7, 100, 127}, dtype);
    for (int64_t exponent : {2, 3, 4}) {
      const Tensor y = pow(x, integer_number(exponent, cpu()));
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_EQ(read(y), read(pow(x, full_integer({1}, exponent, dtype, cpu()))));
    }
  }
  EXPECT_EQ(pow(make({1}, {1}, Dtype::boolean), integer_number(2, cpu())).dtype(), Dtype::int64);
  EXPECT_EQ(pow(make({1}, {3}, Dtype::int32), number(2, cpu())).dtype(), Dtype::float32);
}

TEST(Power, OfAPlainNumberHasItsSlope) {
  const std::vector<double> at = {-1.5, -0.25, 0.5, 3, INFINITY};
  for (double exponent : {-2.0, -1.0, -0.5, 0.5, 2.0, 3.0, 4.0}) {
    Tensor x = leaf(make({5}, at, Dtype::float64));
    Tensor y = pow(x, number(exponent, cpu()));
    const std::vector<double> slopes = read(gradients({y}, {ones_like(y)}, {x})[0]);
    for (size_t i = 0; i < at.size(); ++i) {
      const double slope = exponent * std::pow(at[i], exponent - 1);
      if (std::isnan(slope)) {
        EXPECT_TRUE(std::isnan(slopes[i]));
      } else if (std::isinf(slope)) {
        EXPECT_EQ(slopes[i], slope);
      } else {
        EXPECT_NEAR(slopes[i], slope, 1e-14 * std::abs(slope)) << at[i] << " ** " << exponent;
      }
    }
  }
  Tensor lowest = leaf(make({1}, {-INFINITY}, Dtype::float64));
  Tensor y = pow(lowest, number(0.5, cpu()));
  EXPECT_EQ(read(gradients({y}, {ones_like(y)}, {lowest})[0])[0], 0);
}

}  // namespace
}  // namespace mt::testing
