// SPDX-License-Identifier: Apache-2.0
#include "nn/rules.h"

#include <functional>
#include <limits>

#include "nn/optimizer.h"
#include "nn/support.h"

namespace mt {
namespace {

using Vector = std::vector<double>;

// The rules once more, for one number at a time in double, as the formulas read.
struct NaiveState {
  double w, m = 0, v = 0;
};
using NaiveRule = std::function<void(NaiveState&, double g, double a, int t)>;

NaiveRule naive(const SgdOptions& o) {
  return [o](NaiveState& s, double g, double a, int t) {
    g += o.weight_decay * s.w;
    if (o.momentum == 0) {
      s.w -= a * g;
      return;
    }
    s.v = t == 1 ? g : o.momentum * s.v + (1 - o.dampening) * g;
    s.w -= a * (o.nesterov ? g + o.momentum * s.v : s.v);
  };
}
NaiveRule naive(const AdamOptions& o) {
  return [o](NaiveState& s, double g, double a, int t) {
    if (o.decoupled)
      s.w -= a * o.weight_decay * s.w;
    else
      g += o.weight_decay * s.w;
    s.m = o.beta1 * s.m + (1 - o.beta1) * g;
    s.v = o.beta2 * s.v + (1 - o.beta2) * g * g;
    double m = s.m / (1 - std::pow(o.beta1, t)), v = s.v / (1 - std::pow(o.beta2, t));
    s.w -= a * m / (std::sqrt(v) + o.epsilon);
  };
}
NaiveRule naive(const RmspropOptions& o) {
  return [o](NaiveState& s, double g, double a, int) {
    g += o.weight_decay * s.w;
    s.v = o.smoothing * s.v + (1 - o.smoothing) * g * g;
    s.m = o.momentum * s.m + g / (std::sqrt(s.v) + o.epsilon);
    s.w -= a * s.m;
  };
}
NaiveRule naive(const AdagradOptions& o) {
  return [o](NaiveState& s, double g, double a, int t) {
    if (t == 1) s.v = o.initial;
    g += o.weight_decay * s.w;
    s.v += g * g;
    s.w -= a * g / (std::sqrt(s.v) + o.epsilon);
  };
}

class RulesTest : public FileTest {
 protected:
  static constexpr int steps = 5;
  static double rate_at(int t) { return 0.1 / t; }

  // Five steps of different rates on parameters of several shapes, against the naive rule.
  template <class Options>
  void expect_rule(const Options& options, Dtype dtype, double tolerance, const char* device) {
    Ref<Parameters> parameters = make_parameters(dtype, device);
    const Shape shapes[] = {{3, 5}, {7}, {}, {2, 1, 4}};
    std::vector<std::vector<NaiveState>> expected;
    for (int p = 0; p < 4; ++p) {
      Vector start = numbers(static_cast<size_t>(element_count(shapes[p])), 7 + uint64_t(p));
      Binding& binding =
          parameters->create("p" + std::to_string(p),
                             from_doubles(start, shapes[p], dtype, parameters->device), false);
      expected.emplace_back();
      for (double w : to_doubles(binding.value())) expected.back().push_back({w});
    }
    Optimizer optimizer(parameters, rate_at(1), make_rule(options));
    NaiveRule rule = naive(options);
    for (int t = 1; t <= steps; ++t) {
      optimizer.set_learning_rate(rate_at(t));
      for (int p = 0; p < 4; ++p) {
        Binding& binding = *parameters->entries()[size_t(p)].binding;
        auto& states = expected[size_t(p)];
        Vector given = numbers(states.size(), static_cast<uint64_t>(100 * t + p));
        Tensor gradient = from_doubles(given, shapes[p], dtype, parameters->device);
        Vector exact = to_doubles(gradient);
        binding.set_gradient(gradient);
        for (size_t i = 0; i < states.size(); ++i) rule(states[i], exact[i], rate_at(t), t);
      }
      optimizer.step();
    }
    EXPECT_EQ(optimizer.steps(), steps);
    EXPECT_EQ(optimizer.learning_rate(), rate_at(steps));
    for (int p = 0; p < 4; ++p) {
      Tensor value = parameters->entries()[size_t(p)].binding->value();
      EXPECT_EQ(value.dtype(), dtype);
      EXPECT_TRUE(value.requires_gradient());
      Vector weights = to_doubles(value);
      for (size_t i = 0; i < weights.size(); ++i) {
        EXPECT_NEAR(weights[i], expected[size_t(p)][i].w, tolerance) << p << ' ' << i;
      }
    }
  }
  template <class Options>
  void expect_rule(const Options& options) {
    expect_rule(options, Dtype::float64, 1e-13, "cpu");
    expect_rule(options, Dtype::float64, 1e-13, "cpu:reference");
    expect_rule(options, Dtype::float32, 2e-6, "cpu");
    // Rounded once a step: five times half an ulp of numbers up to 2.
    expect_rule(options, Dtype::float16, 5 * 0x1p-11, "cpu");
    expect_rule(options, Dtype::bfloat16, 5 * 0x1p-8, "cpu");
  }
};

TEST_F(RulesTest, Sgd) {
  expect_rule(SgdOptions{});
  expect_rule(SgdOptions{0, 0, 0.1, false});
  expect_rule(SgdOptions{0.9, 0, 0, false});
  expect_rule(SgdOptions{0.9, 0.3, 0.1, false});
  expect_rule(SgdOptions{0.9, 0, 0.1, true});
}

// However late a parameter comes by its first gradient, that step of it is not dampened.
TEST_F(RulesTest, EachParametersFirstStepIsNotDampened) {
  const double momentum = 0.75, dampening = 0.5, rate = 0.25;
  Ref<Parameters> parameters = make_parameters(Dtype::float32, "cpu");
  Binding* bindings[3];
  double weight[3], velocity[3] = {};
  for (int p = 0; p < 3; ++p) {
    weight[p] = 1 + p;
    bindings[p] = &parameters->create(
        "p" + std::to_string(p), from_doubles({weight[p]}, {1}, Dtype::float32, parameters->device),
        false);
  }
  Optimizer optimizer(parameters, rate, make_rule(SgdOptions{momentum, dampening, 0, false}));
  for (int t = 0; t < 6; ++t) {
    for (int p = 0; p < 3 && 2 * p <= t; ++p) {  // one more at every second step
      const double g = 1.0 / (1 << (t + p));
      velocity[p] = t == 2 * p ? g : momentum * velocity[p] + (1 - dampening) * g;
      weight[p] -= rate * velocity[p];
      bindings[p]->set_gradient(from_doubles({g}, {1}, Dtype::float32, parameters->device));
    }
    optimizer.step();
    for (int p = 0; p < 3; ++p) {
      EXPECT_NEAR(to_doubles(bindings[p]->value())[0], weight[p], 1e-6) << t << ' ' << p;
    }
  }
}

TEST_F(RulesTest, Adam) {
  expect_rule(AdamOptions{});
  expect_rule(AdamOptions{0.8, 0.99, 1e-3, 0.1, false});
  expect_rule(AdamOptions{0.8, 0.99, 1e-3, 0.1, true});
  expect_rule(AdamOptions{0, 0, 1e-3, 0, true});
}

TEST_F(RulesTest, Rmsprop) {
  expect_rule(RmspropOptions{});
  expect_rule(RmspropOptions{0.9, 1e-3, 0.7, 0.1});
}

TEST_F(RulesTest, Adagrad) {
  expect_rule(AdagradOptions{});
  expect_rule(AdagradOptions{1e-3, 0.5, 0.1});
}

TEST_F(RulesTest, RefuseImpossibleOptions) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto expect_invalid = [](auto options) {
    EXPECT_EQ(error_of([&] { make_rule(options); }).code(), Code::invalid);
  };
  expect_invalid(SgdOptions{0, 0, 0, true});
  expect_invalid(SgdOptions{0.9, 0.5, 0, true});
  expect_invalid(SgdOptions{-1, 0, 0, false});
  expect_invalid(SgdOptions{0, 0, nan, false});
  expect_invalid(AdamOptions{1, 0.9, 1e-8, 0, false});
  expect_invalid(AdamOptions{0.9, nan, 1e-8, 0, false});
  expect_invalid(RmspropOptions{0.9, -1, 0, 0});
  expect_invalid(AdagradOptions{1e-10, -1, 0});
}

}  // namespace
}  // namespace mt
