// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::test {
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

TEST(Attention, EqualsItsFormula) {
  Tensor q = noise({2, 3, 4}, 1), k = noise({2, 5, 4}, 2), v = noise({2, 5, 2}, 3);
  Tensor expected = matmul(softmax(matmul(q, transpose(k)) * 0.5, -1), v);
  expect_near(attention(q, k, v, nullptr, {}), read(expected));
  // The first query of a causal call sees the first key alone.
  Attention causal{true};
  std::vector<double> y = read(attention(q, k, v, nullptr, causal)), values = read(v);
  EXPECT_DOUBLE_EQ(y[0], values[0]);
  EXPECT_DOUBLE_EQ(y[1], values[1]);
  Tensor visible = make({3, 5}, {1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0}, Dtype::boolean);
  expect_near(attention(q, k, v, visible, {}), y);
  Tensor added = where(visible, number(0, cpu()), number(-inf, cpu()));
  expect_near(attention(q, k, v, added, {}), y);
}

TEST(Attention, GradientsAndDevices) {
  for (bool causal : {false, true}) {
    Function f = [&](const std::vector<Tensor>& t) {
      return attention(t[0], t[1], t[2], nullptr, {causal});
    };
    check_gradients(f, {noise({3, 2}, 1), noise({3, 2}, 2), noise({3, 2}, 3)}, 2);
    check_devices(f, {{2, 2, 9, 4}, {2, 2, 9, 4}, {2, 2, 9, 3}});
  }
  EXPECT_EQ(message_of([] { attention(noise({3, 2}, 1), noise({3, 4}, 1), noise({3, 2}, 1), nullptr, {}); }),
            "scaled_dot_product_attention: query [3,2], key [3,4], value [3,2]: must be [..., n, d], "
            "[..., m, d], [..., m, e]");
}

TEST(Attention, IsThreePasses) {
  Tensor q = noise({2, 4, 64, 32}, 1, Dtype::float32);
  EXPECT_LE(group_count(attention(q, q, q, nullptr, {true})), 2);
}

}  // namespace
}  // namespace mt::test
