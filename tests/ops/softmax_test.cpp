// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

constexpr double inf = INFINITY;

TEST(Softmax, Values) {
  double e = std::exp(1.0), s = 1 + e;
  Tensor x = make({2, 2}, {0, 1, 1000, 1001});
  expect_near(softmax(x, 1), {1 / s, e / s, 1 / s, e / s});
  expect_near(log_softmax(x, -1), {-std::log(s), 1 - std::log(s), -std::log(s), 1 - std::log(s)});
  expect_near(softmax(make({2, 1}, {0, 1}), 0), {1 / s, e / s});
  expect_near(softmax(make({3}, {-inf, 0, -inf}), 0), {0, 1, 0});
  EXPECT_TRUE(read(softmax(noise({2, 0}, 1), 1)).empty());
  EXPECT_TRUE(read(softmax(noise({0, 3}, 1), 1)).empty());
}

TEST(Softmax, LogSumExp) {
  expect_near(logsumexp(make({2, 2}, {0, 0, 1000, 1000}), {1}),
              {std::log(2.0), 1000 + std::log(2.0)});
  expect_near(logsumexp(make({4}, {-inf, -inf, -inf, -inf})), {-inf});
  expect_near(logsumexp(make({2}, {inf, 1})), {inf});
  expect_near(logsumexp(make({2, 0}, {}), {1}), {-inf, -inf});
  EXPECT_EQ(to_string(logsumexp(noise({2, 3, 4}, 1), {0, 2}, true).shape()), "[1,3,1]");
}

TEST(Softmax, GradientsAndDevices) {
  for (int64_t axis : {0, 1, 2}) {
    Function soft = [&](const std::vector<Tensor>& t) { return softmax(t[0], axis); };
    Function log_soft = [&](const std::vector<Tensor>& t) { return log_softmax(t[0], axis); };
    Function total = [&](const std::vector<Tensor>& t) { return logsumexp(t[0], {axis}); };
    for (const Function& f : {soft, log_soft, total}) {
      check_gradients(f, {noise({2, 3, 2}, 1)}, 2);
      check_devices(f, {{3, 5, 7}});
      check_devices(f, {{3, 5, 7}}, Dtype::bfloat16, 1e-2);
      check_devices(f, {{1, 1, 1}});
    }
  }
}

TEST(Softmax, IsOnePass) {
  Tensor x = noise({64, 100}, 1, Dtype::float32);
  EXPECT_EQ(group_count(softmax(x, 1)), 1);
  EXPECT_EQ(group_count(log_softmax(x, 1)), 1);
  EXPECT_EQ(group_count(logsumexp(x, {1})), 1);
}

TEST(Softmax, NamesFaults) {
  EXPECT_EQ(message_of([] { softmax(cast(noise({2}, 1), Dtype::int32), 0); }),
            "softmax: needs floats, got int32");
}

}  // namespace
}  // namespace mt::testing
