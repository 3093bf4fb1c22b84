// SPDX-License-Identifier: Apache-2.0
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "autodiff/backward.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::test {
namespace {

std::vector<double> gelu_slopes(const Tensor& x) {
  Tensor parameter = leaf(x);
  Tensor y = gelu(parameter);
  return read(gradients({y}, {ones_like(y)}, {parameter})[0]);
}

TEST(Gelu, SlopeEndsInZeroAndOne) {
  constexpr double inf = INFINITY;
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16}) {
    EXPECT_EQ(gelu_slopes(make({4}, {-inf, -1e3, 1e3, inf}, dtype)),
              (std::vector<double>{0, 0, 1, 1}));
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

TEST(Power, OfIntegersToANegativeNumberIsRefused) {
  Tensor x = make({1}, {2}, Dtype::int32);
  EXPECT_NE(message_of([&] { pow(x, integer_number(-1, cpu())); }).find("int32 to the power of -1"),
            std::string::npos);
  EXPECT_EQ(read(pow(x, number(-1, cpu())))[0], 0.5);
  EXPECT_EQ(read(pow(cast(x, Dtype::float64), integer_number(-1, cpu())))[0], 0.5);
}

}  // namespace
}  // namespace mt::test
