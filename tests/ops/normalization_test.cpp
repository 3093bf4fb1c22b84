// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(Normalization, Values) {
  Tensor x = make({2, 2}, {1, 3, 10, 30});
  Tensor w = make({2}, {2, 3}), b = make({2}, {1, 0});
  expect_near(layer_norm(x, 1, w, b, 0), {-1, 3, -1, 3});
  expect_near(layer_norm(x, 1, nullptr, nullptr, 3),
              {-0.5, 0.5, -10 / std::sqrt(103.0), 10 / std::sqrt(103.0)});
  expect_near(layer_norm(x, 2, nullptr, nullptr, 0), read((x - mean(x)) / sqrt(var(x, {}, 0))));
  expect_near(rms_norm(make({2}, {3, 4}), 1, nullptr, 0),
              {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
}

TEST(Normalization, GradientsAndDevices) {
  Function layer = [](const std::vector<Tensor>& t) {
    return layer_norm(t[0], 1, t[1], t[2], 1e-5);
  };
  Function rms = [](const std::vector<Tensor>& t) { return rms_norm(t[0], 1, t[1], 1e-6) + t[2]; };
  for (const Function& f : {layer, rms}) {
    check_gradients(f, {noise({2, 4}, 1), noise({4}, 2), noise({4}, 3)}, 2, 1e-5);
    check_devices(f, {{7, 33}, {33}, {33}});
    check_devices(f, {{7, 33}, {33}, {33}}, Dtype::bfloat16, 2e-2);
  }
  Function two_axes = [](const std::vector<Tensor>& t) {
    return layer_norm(t[0], 2, t[1], nullptr, 1e-5);
  };
  check_gradients(two_axes, {noise({2, 2, 3}, 1), noise({2, 3}, 2)});
  check_devices(two_axes, {{3, 4, 5}, {4, 5}});
}

TEST(Normalization, BatchNorm) {
  Tensor x = make({2, 2, 1}, {1, 10, 3, 30});
  Tensor zero = make({2}, {0, 0}), one = make({2}, {1, 1});
  BatchNorm trained = batch_norm(x, nullptr, nullptr, zero, one, true, 0.1, 0);
  expect_near(trained.y, {-1, -1, 1, 1});
  expect_near(trained.running_mean, {0.2, 2});
  expect_near(trained.running_var, {0.9 + 0.1 * 2, 0.9 + 0.1 * 200});
  BatchNorm evaluated =
      batch_norm(x, make({2}, {2, 1}), one, make({2}, {1, 10}), make({2}, {4, 25}), false, 0.1, 0);
  expect_near(evaluated.y, {1, 1, 3, 5});
  expect_near(evaluated.running_mean, {1, 10});
  EXPECT_FALSE(trained.running_mean.requires_gradient());
}

TEST(Normalization, BatchNormGradients) {
  Function train = [](const std::vector<Tensor>& t) {
    return batch_norm(t[0], t[1], t[2], nullptr, nullptr, true, 0.1, 1e-5).y;
  };
  check_gradients(train, {noise({3, 2, 2}, 1), noise({2}, 2), noise({2}, 3)}, 2, 1e-5);
  check_devices(train, {{4, 3, 5, 2}, {3}, {3}});
  // What no gradient goes to may be gone.
  Function of_data = [](const std::vector<Tensor>& t) {
    Tensor x = noise({4, 3, 5}, 1, t[0].dtype(), t[0].device());
    return batch_norm(x, t[0], t[1], nullptr, nullptr, true, 0.1, 1e-5).y;
  };
  check_gradients(of_data, {noise({3}, 2), noise({3}, 3)});
  check_devices(of_data, {{3}, {3}});
  Function without_weight = [](const std::vector<Tensor>& t) {
    return batch_norm(t[0], nullptr, nullptr, nullptr, nullptr, true, 0.1, 1e-5).y;
  };
  check_gradients(without_weight, {noise({3, 2, 2}, 1)}, 2, 1e-5);
  check_devices(without_weight, {{4, 1, 5}});
  Function fixed = [](const std::vector<Tensor>& t) {
    return batch_norm(t[0], t[1], t[2], t[3], square(t[4]), false, 0.1, 1e-2).y;
  };
  check_gradients(
      fixed, {noise({3, 2, 2}, 1), noise({2}, 2), noise({2}, 3), noise({2}, 4), noise({2}, 5)});
}

TEST(Normalization, GroupNormGradients) {
  Function norm = [](const std::vector<Tensor>& t) {
    return group_norm(t[0], 2, t[1], t[2], 1e-5);
  };
  check_gradients(norm, {noise({2, 4, 3}, 1), noise({4}, 2), noise({4}, 3)}, 2, 1e-5);
  check_gradients(norm, {noise({3, 6}, 1), noise({6}, 2), noise({6}, 3)}, 2, 1e-5);
  check_devices(norm, {{3, 4, 5, 2}, {4}, {4}});
  Function without_weight = [](const std::vector<Tensor>& t) {
    return group_norm(t[0], 2, nullptr, nullptr, 1e-5);
  };
  check_gradients(without_weight, {noise({2, 4, 3}, 1)}, 2, 1e-5);
  // One weight for each group; and one group.
  check_gradients(norm, {noise({3, 2, 4}, 1), noise({2}, 2), noise({2}, 3)}, 2, 1e-5);
  Function layer = [](const std::vector<Tensor>& t) {
    return group_norm(t[0], 1, t[1], t[2], 1e-5);
  };
  check_gradients(layer, {noise({1, 3, 4}, 1), noise({3}, 2), noise({3}, 3)}, 2, 1e-5);
  // What no gradient goes to may be gone.
  Function of_data = [](const std::vector<Tensor>& t) {
    Tensor x = noise({2, 4, 5}, 1, t[0].dtype(), t[0].device());
    return group_norm(x, 2, t[0], t[1], 1e-5);
  };
  check_gradients(of_data, {noise({4}, 2), noise({4}, 3)});
  check_devices(of_data, {{4}, {4}});
  Function of_elements = [](const std::vector<Tensor>& t) {
    Tensor weight = noise({4}, 1, t[0].dtype(), t[0].device());
    return group_norm(t[0], 2, weight, weight, 1e-5);
  };
  check_gradients(of_elements, {noise({2, 4, 3}, 2)}, 2, 1e-5);
}

TEST(Normalization, IsOnePass) {
  Tensor x = noise({64, 100}, 1, Dtype::float32), w = noise({100}, 2, Dtype::float32);
  EXPECT_EQ(group_count(layer_norm(x, 1, w, w, 1e-5)), 1);
  EXPECT_EQ(group_count(rms_norm(x, 1, w, 1e-5)), 1);
}

TEST(Normalization, NamesFaults) {
  EXPECT_EQ(message_of([] {
              layer_norm(noise({2, 3}, 1), 1, noise({2}, 1), nullptr, 0);
            }),
            "layer_norm: [2,3] over 1 axes: weight and bias must be [3], got [2]");
  EXPECT_EQ(message_of([] {
              rms_norm(noise({2, 3}, 1), 3, nullptr, 0);
            }),
            "rms_norm: 3 axes of [2,3]");
  EXPECT_EQ(message_of([] {
              batch_norm(noise({2, 3}, 1), nullptr, nullptr, nullptr, nullptr, false, 0.1, 0);
            }),
            "batch_norm: evaluation needs the running statistics");
}

}  // namespace
}  // namespace mt::testing
