// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "autodiff/backward.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(Statistics, Variance) {
  Tensor x = make({2, 3}, {1, 2, 6, 1e9, 1e9 + 1, 1e9 + 2});
  expect_near(var(x, {1}, 0), {14.0 / 3, 2.0 / 3});
  expect_near(var(x, {1}, 1), {7, 1});
  expect_near(standard_deviation(x, {1}, 1), {std::sqrt(7.0), 1});
  expect_near(var(x, {1}, 3), {NAN, NAN});
  expect_near(var(make({1}, {5}), {}, 1), {NAN});
  expect_near(var(make({4}, {1, 2, 3, 4}, Dtype::int32), {}, 0), {1.25}, 1e-6);
  EXPECT_EQ(to_string(var(x, {0}, 0, true).shape()), "[1,3]");
}

TEST(Statistics, OfIntegersAreRoundedOnce) {
  for (Device* device : {&cpu(), &reference()}) {
    const double large = 2147483648.0;
    Tensor wide = make({3}, {large, large + 2, large + 4}, Dtype::int64, *device);
    expect_near(var(wide, {}, 0), {8.0 / 3}, 1e-6);
    expect_near(standard_deviation(wide, {}, 1), {2}, 1e-6);
    expect_near(mean(wide, {}), {large}, 1);  // the float32 next to 2^31 + 2
    Tensor ends = make({3}, {large - 1, -large, 2 - large}, Dtype::int32, *device);
    expect_near(mean(ends, {}), {std::nearbyintf((1 - large) / 3)}, 64);
    Tensor opposite = make({3}, {large - 1, -large, 7}, Dtype::int32, *device);
    expect_near(mean(opposite, {}), {2});
  }
}

TEST(Statistics, Norms) {
  Tensor x = make({4}, {3, 0, -4, 0});
  expect_near(norm(x, {}, 2), {5});
  expect_near(norm(x, {}, 1), {7});
  expect_near(norm(x, {}, 0), {2});
  expect_near(norm(x, {}, INFINITY), {4});
  expect_near(norm(x, {}, -INFINITY), {0});
  expect_near(norm(x, {}, 3), {std::cbrt(91.0)});
  expect_near(norm(make({2}, {1, 2}), {}, -1), {2.0 / 3});
  // At 0 the gradient is 0.
  Tensor zero = leaf(make({2}, {0, 0}));
  expect_near(gradients({norm(zero, {}, 2)}, {}, {zero})[0], {0, 0});
  Tensor alike = leaf(make({3}, {2, 2, 2}));
  expect_near(gradients({standard_deviation(alike, {}, 1)}, {}, {alike})[0], {0, 0, 0});
  EXPECT_TRUE(std::isnan(read(standard_deviation(make({1}, {2}), {}, 1))[0]));
}

TEST(Statistics, GradientsAndDevices) {
  for (const Dims& axes : {Dims{}, Dims{1}, Dims{0, 2}}) {
    Function variance = [&](const std::vector<Tensor>& t) { return var(t[0], axes, 1); };
    Function deviation = [&](const std::vector<Tensor>& t) {
      return standard_deviation(t[0], axes, 0, true);
    };
    Function euclid = [&](const std::vector<Tensor>& t) { return norm(t[0], axes, 2); };
    Function cubic = [&](const std::vector<Tensor>& t) { return norm(t[0], axes, 3); };
    for (const Function& f : {variance, deviation, euclid, cubic}) {
      check_gradients(f, {noise({2, 3, 2}, 1)}, 2);
      check_devices(f, {{3, 4, 5}});
    }
  }
}

TEST(Statistics, ErrorsNameTheOperator) {
  Tensor x = make({2}, {3, 4});
  const std::string said = ": axis 5 is out of range for 1 dimensions";
  EXPECT_EQ(message_of([&] { var(x, {5}, 1); }), "var" + said);
  EXPECT_EQ(message_of([&] { standard_deviation(x, {5}, 1); }), "std" + said);
  EXPECT_EQ(message_of([&] { count_nonzero(x, {5}); }), "count_nonzero" + said);
  for (double order : {-double{INFINITY}, -1.0, 0.0, 1.0, 2.0, 3.0, double{INFINITY}}) {
    EXPECT_EQ(message_of([&] { norm(x, {5}, order); }), "norm" + said);
  }
}

}  // namespace
}  // namespace mt::testing
