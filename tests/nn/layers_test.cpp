// SPDX-License-Identifier: Apache-2.0
#include "nn/layers.h"

#include <algorithm>

#include "nn/support.h"

namespace mt {
namespace {

using Vector = std::vector<double>;

class LayersTest : public LayerTest {
 protected:
  Vector of(const char* name) const { return to_doubles(LayerTest::of(name)); }
  void set(const char* name, const Vector& values) {
    Binding& binding = *parameters_->find(name)->binding;
    binding.bind(from_doubles(values, binding.value().shape(), Dtype::float64, device_));
  }
  void expect_tensor(size_t i, const char* name, const Shape& shape, bool is_buffer = false) {
    ASSERT_LT(i, parameters_->entries().size());
    const Parameters::Entry& entry = parameters_->entries()[i];
    EXPECT_EQ(entry.name, name);
    EXPECT_EQ(entry.binding->value().shape(), shape) << name;
    EXPECT_EQ(entry.is_buffer, is_buffer) << name;
  }
  void expect_uniform(const char* name, double bound) {
    Vector values = of(name);
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*low, -bound);
    EXPECT_LT(*high, bound);
    EXPECT_GT(*high - *low, bound) << name;
  }
  static void expect_near(const Vector& found, const Vector& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
  }
};

TEST_F(LayersTest, Linear) {
  Layer& layer = add_linear(*parameters_, "a.b", 5, 20, true);
  expect_tensor(0, "a.b.weight", {20, 5});
  expect_tensor(1, "a.b.bias", {20});
  expect_uniform("a.b.weight", 1 / std::sqrt(5));
  expect_uniform("a.b.bias", 1 / std::sqrt(5));
  Tensor x = random({3, 5}, 1);
  Vector w = of("a.b.weight"), b = of("a.b.bias"), in = to_doubles(x), expected;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t o = 0; o < 20; ++o) {
      double sum = b[o];
      for (size_t k = 0; k < 5; ++k) sum += in[i * 5 + k] * w[o * 5 + k];
      expected.push_back(sum);
    }
  }
  Tensor y = layer.apply(x);
  EXPECT_TRUE(y.requires_gradient());
  expect_near(to_doubles(y), expected);
  add_linear(*parameters_, "plain", 5, 1, false);
  EXPECT_EQ(parameters_->entries().size(), 3u);
}

TEST_F(LayersTest, Convolutions) {
  Convolution how{{2}, {1}, {1}, {0}, 2};
  Layer& layer = add_convolution(*parameters_, "c", 4, 6, {3}, how, false, true);
  expect_tensor(0, "c.weight", {6, 2, 3});
  expect_tensor(1, "c.bias", {6});
  expect_uniform("c.weight", 1 / std::sqrt(6));
  Tensor x = random({1, 4, 7}, 2);
  Vector w = of("c.weight"), b = of("c.bias"), in = to_doubles(x), expected;
  for (size_t o = 0; o < 6; ++o) {
    for (size_t p = 0; p < 4; ++p) {
      double sum = b[o];
      for (size_t i = 0; i < 2; ++i) {
        for (size_t t = 0; t < 3; ++t) {
          size_t at = 2 * p + t;  // after one zero of padding
          if (at < 1 || at > 7) continue;
          sum += w[(o * 2 + i) * 3 + t] * in[(o / 3 * 2 + i) * 7 + at - 1];
        }
      }
      expected.push_back(sum);
    }
  }
  expect_near(to_doubles(layer.apply(x)), expected);

  Convolution plain{{1, 1}, {0, 0}, {1, 1}, {0, 0}, 1};
  Layer& up = add_convolution(*parameters_, "t", 4, 6, {2, 3}, plain, true, false);
  expect_tensor(2, "t.weight", {4, 6, 2, 3});
  EXPECT_EQ(up.apply(random({1, 4, 5, 5}, 3)).shape(), Shape({1, 6, 6, 7}));
  EXPECT_EQ(
      error_of([&] { add_convolution(*parameters_, "bad", 4, 5, {3}, how, false, true); }).code(),
      Code::invalid);
  how.same = true;
  EXPECT_EQ(
      error_of([&] { add_convolution(*parameters_, "bad", 4, 6, {3}, how, false, true); }).code(),
      Code::invalid);
  EXPECT_EQ(parameters_->entries().size(), 3u);
  how.stride = {1};
  Layer& same = add_convolution(*parameters_, "s", 4, 6, {4}, how, false, true);
  EXPECT_EQ(same.apply(random({1, 4, 7}, 4)).shape(), Shape({1, 6, 7}));
}

TEST_F(LayersTest, Norms) {
  Layer& layer = add_layer_norm(*parameters_, "n", {4}, 1e-5);
  expect_tensor(0, "n.weight", {4});
  expect_tensor(1, "n.bias", {4});
  EXPECT_EQ(of("n.weight"), Vector(4, 1));
  EXPECT_EQ(of("n.bias"), Vector(4, 0));
  Vector y = to_doubles(layer.apply(from_doubles({1, 2, 3, 6}, {1, 4}, Dtype::float64, device_)));
  double scale = 1 / std::sqrt(3.5 + 1e-5);
  expect_near(y, {-2 * scale, -scale, 0, 3 * scale});
  Layer& root = add_rms_norm(*parameters_, "r", {2}, 0);
  expect_tensor(2, "r.weight", {2});
  expect_near(to_doubles(root.apply(from_doubles({1, 7}, {1, 2}, Dtype::float64, device_))),
              {0.2, 1.4});
}

TEST_F(LayersTest, BatchNormKeepsRunningStatistics) {
  Layer& layer = add_batch_norm(*parameters_, "b", 1, 0.1, 0);
  expect_tensor(0, "b.weight", {1});
  expect_tensor(1, "b.bias", {1});
  expect_tensor(2, "b.running_mean", {1}, true);
  expect_tensor(3, "b.running_var", {1}, true);
  Tensor x = from_doubles({1, 3}, {2, 1}, Dtype::float64, device_);
  expect_near(to_doubles(layer.apply(x)), {-1, 1});
  expect_near(of("b.running_mean"), {0.2});
  expect_near(of("b.running_var"), {0.9 + 0.1 * 2});
  EXPECT_FALSE(parameters_->find("b.running_var")->binding->value().requires_gradient());
  parameters_->training.set(false);
  double scale = 1 / std::sqrt(1.1);
  expect_near(to_doubles(layer.apply(x)), {0.8 * scale, 2.8 * scale});
  expect_near(of("b.running_mean"), {0.2});
}

TEST_F(LayersTest, Embedding) {
  Layer& layer = add_embedding(*parameters_, "e", 100, 3);
  expect_tensor(0, "e.weight", {100, 3});
  Vector weights = of("e.weight"), expected;
  double square = 0;
  for (double w : weights) square += w * w;
  EXPECT_NEAR(square / 300, 1, 0.3);  // normal
  Tensor y = layer.apply(make<int64_t>(Dtype::int64, {2, 1}, {7, 99}));
  EXPECT_EQ(y.shape(), Shape({2, 1, 3}));
  for (size_t row : {7, 99}) {
    for (size_t i = 0; i < 3; ++i) expected.push_back(weights[row * 3 + i]);
  }
  EXPECT_EQ(to_doubles(y), expected);
}

TEST_F(LayersTest, DropoutFollowsTheMode) {
  Layer& layer = add_dropout(*parameters_, 0.25);
  Tensor x = from_doubles(Vector(1000, 3), {1000}, Dtype::float64, device_);
  Vector y = to_doubles(layer.apply(x));
  auto zeros = std::count(y.begin(), y.end(), 0.0);
  EXPECT_NEAR(static_cast<double>(zeros), 250, 60);
  EXPECT_EQ(std::count(y.begin(), y.end(), 4.0), 1000 - zeros);
  parameters_->training.set(false);
  EXPECT_EQ(to_doubles(layer.apply(x)), to_doubles(x));
  EXPECT_EQ(error_of([&] { add_dropout(*parameters_, 1.5); }).code(), Code::invalid);
}

TEST_F(LayersTest, Attention) {
  constexpr size_t n = 3, width = 4, heads = 2, d = 2;
  Attention causal;
  causal.causal = true;
  Layer& layer = add_attention(*parameters_, "a", width, heads, causal, true);
  expect_tensor(0, "a.in_proj_weight", {12, 4});
  expect_tensor(1, "a.in_proj_bias", {12});
  expect_tensor(2, "a.out_proj.weight", {4, 4});
  expect_tensor(3, "a.out_proj.bias", {4});
  Tensor x = random({1, n, width}, 5);
  Vector in = to_doubles(x), w = of("a.in_proj_weight"), b = of("a.in_proj_bias");
  double p[n][3 * width], mixed[n][width] = {};
  for (size_t i = 0; i < n; ++i) {
    for (size_t o = 0; o < 3 * width; ++o) {
      p[i][o] = b[o];
      for (size_t k = 0; k < width; ++k) p[i][o] += in[i * width + k] * w[o * width + k];
    }
  }
  for (size_t h = 0; h < heads; ++h) {
    for (size_t i = 0; i < n; ++i) {
      double weights[n], total = 0;
      for (size_t j = 0; j <= i; ++j) {
        double score = 0;
        for (size_t k = 0; k < d; ++k) score += p[i][h * d + k] * p[j][width + h * d + k];
        total += weights[j] = std::exp(score / std::sqrt(2.0));
      }
      for (size_t j = 0; j <= i; ++j) {
        for (size_t k = 0; k < d; ++k) {
          mixed[i][h * d + k] += weights[j] / total * p[j][2 * width + h * d + k];
        }
      }
    }
  }
  Vector expected, u = of("a.out_proj.weight"), c = of("a.out_proj.bias");
  for (size_t i = 0; i < n; ++i) {
    for (size_t o = 0; o < width; ++o) {
      double sum = c[o];
      for (size_t k = 0; k < width; ++k) sum += mixed[i][k] * u[o * width + k];
      expected.push_back(sum);
    }
  }
  expect_near(to_doubles(layer.apply(x)), expected);
  EXPECT_EQ(layer.apply(random({n, width}, 6)).shape(), Shape({n, width}));
  EXPECT_EQ(error_of([&] { layer.apply(random({3, 5}, 1)); }).code(), Code::shape);
  EXPECT_EQ(error_of([&] { add_attention(*parameters_, "x", 4, 3, {}, true); }).code(),
            Code::invalid);
  add_attention(*parameters_, "plain", width, heads, {}, false).apply(x);
  EXPECT_EQ(parameters_->entries().size(), 6u);
}

// When they are made, not when they are applied.
TEST_F(LayersTest, RefuseImpossibleNumbers) {
  auto convolution = [&](const Convolution& how, bool transposed) {
    return error_of([&] { add_convolution(*parameters_, "c", 1, 1, {1}, how, transposed, true); });
  };
  for (const Convolution& how : {Convolution{{-1}, {0}, {1}, {0}}, Convolution{{0}, {0}, {1}, {0}},
                                 Convolution{{1}, {-1}, {1}, {0}}, Convolution{{1}, {0}, {0}, {0}},
                                 Convolution{{int64_t{1} << 40}, {0}, {1}, {0}}}) {
    EXPECT_EQ(convolution(how, false).code(), Code::invalid);
    EXPECT_EQ(convolution(how, true).code(), Code::invalid);
  }
  EXPECT_EQ(convolution({{2}, {0}, {1}, {2}}, true).code(), Code::invalid);
  EXPECT_EQ(convolution({{2}, {0}, {1}, {-1}}, true).code(), Code::invalid);
  EXPECT_EQ(error_of([&] { add_layer_norm(*parameters_, "n", {}, 1e-5); }).code(), Code::invalid);
  EXPECT_EQ(error_of([&] { add_rms_norm(*parameters_, "n", {}, 1e-5); }).code(), Code::invalid);
  EXPECT_EQ(parameters_->entries().size(), 0u);
}

TEST_F(LayersTest, RefuseTakenNames) {
  parameters_->create("l.bias", random({1}, 1), true);
  EXPECT_EQ(error_of([&] { add_linear(*parameters_, "l", 2, 2, true); }).code(), Code::invalid);
  EXPECT_EQ(parameters_->entries().size(), 1u);
  EXPECT_EQ(error_of([&] { add_linear(*parameters_, "m", -1, 2, true); }).code(), Code::invalid);
  EXPECT_EQ(error_of([&] { add_layer_norm(*parameters_, "n", {2}, -1); }).code(), Code::invalid);
}

}  // namespace
}  // namespace mt
