// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "autodiff/backward.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

constexpr auto mean_of = LossReduction::mean, sum_of = LossReduction::sum,
               none = LossReduction::none;

TEST(Loss, CrossEntropy) {
  Tensor logits = make({2, 3}, {0, 0, 0, 1000, 0, 1000});
  Tensor targets = make({2}, {1, 2}, Dtype::int64);
  expect_near(cross_entropy(logits, targets, 1, none), {std::log(3.0), std::log(2.0)});
  expect_near(cross_entropy(logits, targets, -1, mean_of), {std::log(6.0) / 2});
  expect_near(cross_entropy(logits, cast(targets, Dtype::uint8), 1, sum_of), {std::log(6.0)});
  // The classes along another axis, and the same as probabilities.
  Tensor x = noise({2, 4, 3}, 1), t = make({2, 3}, {0, 3, 1, 2, 2, 0}, Dtype::int32);
  std::vector<double> expected, logs = read(log_softmax(x, 1)), index = read(t), hot(24);
  for (size_t i = 0; i < 6; ++i) {
    size_t at = i / 3 * 12 + static_cast<size_t>(index[i]) * 3 + i % 3;
    expected.push_back(-logs[at]);
    hot[at] = 1;
  }
  expect_near(cross_entropy(x, t, 1, none), expected);
  expect_near(cross_entropy(x, make({2, 4, 3}, hot), 1, none), expected);
}

TEST(Loss, OthersAndTheirLimits) {
  Tensor x = make({3}, {0, 1000, -1000}), t = make({3}, {0.5, 1, 0});
  expect_near(bce_with_logits(x, t, none), {std::log(2.0), 0, 0});
  expect_near(bce_with_logits(x, 1.0 - t, none), {std::log(2.0), 1000, 1000});
  Tensor w = make({3}, {3, 1, 5});
  expect_near(bce_with_logits(x, t, w, none), {2 * std::log(2.0), 0, 0});
  expect_near(bce_with_logits(x, 1.0 - t, w, none), {2 * std::log(2.0), 1000, 5000});
  expect_near(mse_loss(make({2, 2}, {1, 2, 3, 4}), make({2}, {0, 1}), mean_of),
              {(1 + 1 + 9 + 9) / 4.0});
  Tensor l = leaf(make({1}, {0}));  // the slope at 0 is sigmoid(0) - t
  expect_near(gradients({bce_with_logits(l, make({1}, {0.2}), sum_of)}, {}, {l})[0], {0.3});
}

TEST(Loss, GradientsAndDevices) {
  for (LossReduction reduction : {mean_of, sum_of, none}) {
    Function classes = [&](const std::vector<Tensor>& t) {
      Tensor targets = reshape(iota({3}, Dtype::int64, t[0].device()), {3});
      return cross_entropy(t[0], targets, 1, reduction);
    };
    Function soft = [&](const std::vector<Tensor>& t) {
      return cross_entropy(t[0], softmax(t[1], 1), 1, reduction);
    };
    Function mse = [&](const std::vector<Tensor>& t) { return mse_loss(t[0], t[1], reduction); };
    Function bce = [&](const std::vector<Tensor>& t) {
      return bce_with_logits(t[0], sigmoid(t[1]), reduction);
    };
    check_gradients(classes, {noise({3, 4}, 1)}, 2);
    check_devices(classes, {{3, 10}});
    for (const Function& f : {soft, mse, bce}) {
      check_gradients(f, {noise({3, 4}, 1), noise({3, 4}, 2)}, 2);
      check_devices(f, {{3, 10}, {3, 10}});
    }
  }
}

// A parabola up to delta and a line beyond: also where x is the target.
TEST(Loss, HuberCurvesAtTheTarget) {
  Tensor x = leaf(make({6}, {0, -0.5, 1, -1, 3, -2})), t = make({6}, {0, 0, 0, 0, 0, 0});
  Tensor y = huber_loss(x, t, 1, none);
  expect_near(y, {0, 0.125, 0.5, 0.5, 2.5, 1.5});
  Tensor slope = gradients({y}, {ones_like(y)}, {x})[0];
  expect_near(slope, {0, -0.5, 1, -1, 1, -1});
  std::vector<double> curve = read(gradients({slope}, {ones_like(slope)}, {x})[0]);
  EXPECT_EQ(curve[0], 1);
  EXPECT_EQ(curve[1], 1);
  EXPECT_EQ(curve[4], 0);
  EXPECT_EQ(curve[5], 0);
}

TEST(Loss, OfAPlainNumberKeepsTheTensorsType) {
  using Loss = Tensor (*)(const Tensor&, const Tensor&);
  const Loss losses[] = {
      [](const Tensor& x, const Tensor& t) { return mse_loss(x, t, none); },
      [](const Tensor& x, const Tensor& t) { return l1_loss(x, t, none); },
      [](const Tensor& x, const Tensor& t) { return huber_loss(x, t, 1, none); },
      [](const Tensor& x, const Tensor& t) { return bce_with_logits(x, t, none); },
  };
  for (Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    Tensor x = make({3}, {0.5, 1, -2}, dtype);
    Tensor half = number(0.5, x.device()), one = integer_number(1, x.device());
    for (Loss loss : losses) {
      for (const Tensor& y : {loss(x, half), loss(half, x), loss(x, one), loss(one, x)}) {
        EXPECT_EQ(y.dtype(), dtype);
      }
      EXPECT_EQ(read(loss(x, half)), read(loss(x, full({3}, 0.5, dtype, x.device()))));
      EXPECT_EQ(loss(half, make({1}, {2}, Dtype::int32)).dtype(), Dtype::float32);
    }
  }
}

TEST(Loss, CrossEntropyWithOptions) {
  // Two rows of softmax (1/4, 3/4), of classes 1 and 0; and one that is left out.
  const double a = std::log(4.0), b = std::log(4.0 / 3);
  Tensor x = make({3, 2}, {0, std::log(3.0), 0, std::log(3.0), 7, 8});
  Tensor t = make({3}, {1, 0, 255}, Dtype::uint8), w = make({2}, {3, 5});
  auto loss = [&](const CrossEntropy& how) { return cross_entropy(x, t, -1, how); };
  expect_near(loss({none, {}, 255}), {b, a, 0});
  expect_near(loss({mean_of, {}, 255}), {(a + b) / 2});
  expect_near(loss({none, w, 255}), {5 * b, 3 * a, 0});
  expect_near(loss({mean_of, w, 255}), {(5 * b + 3 * a) / 8});
  expect_near(loss({none, {}, 255, 0.5}), {b / 2 + (a + b) / 4, a / 2 + (a + b) / 4, 0});
  const double all = (3 * a + 5 * b) / 4;
  expect_near(loss({mean_of, w, 255, 0.5}), {((5 * b + 3 * a) / 2 + 2 * all) / 8});
  // A number that the targets' type does not reach is no target.
  t = make({3}, {1, 0, 0}, Dtype::uint8);
  expect_near(loss({sum_of, {}, -100}), read(loss({sum_of})));
  // What is left out is not read: not its target, nor a logit that is not finite.
  x = leaf(make({2, 2}, {0, 0, 1, INFINITY}));
  t = make({2}, {0, -1}, Dtype::int64);
  expect_near(loss({mean_of, {}, -1}), {std::log(2.0)});
  for (LossReduction reduction : {mean_of, sum_of, none}) {
    Function smooth = [&](const std::vector<Tensor>& in) {
      Tensor targets = reshape(iota({3}, Dtype::int64, in[0].device()), {3});
      return cross_entropy(in[0], targets, 1, {reduction, exp(in[1]), 1, 0.3});
    };
    Function soft = [&](const std::vector<Tensor>& in) {
      return cross_entropy(in[0], softmax(in[2], 1), 1, {reduction, exp(in[1]), {}, 0.3});
    };
    check_gradients(smooth, {noise({3, 4}, 1), noise({4}, 2)}, 2);
    check_devices(smooth, {{3, 10}, {10}});
    check_gradients(soft, {noise({3, 4}, 1), noise({4}, 2), noise({3, 4}, 3)}, 2);
    check_devices(soft, {{3, 10}, {10}, {3, 10}});
  }
}

TEST(Loss, CrossEntropyIsFewPasses) {
  Tensor targets = cast(floor(noise({64}, 2, Dtype::float32) * 50.0 + 50.0), Dtype::int64);
  evaluate(targets);
  Tensor x = leaf(noise({64, 100}, 1, Dtype::float32));
  EXPECT_EQ(group_count(cross_entropy(x, targets, 1, none)), 1);
  Tensor loss = cross_entropy(x, targets, 1, mean_of);
  EXPECT_EQ(group_count(loss), 2);  // the rows, and their mean
  // Backward is part of the same pass over the rows; the third is the gradient of the mean.
  EXPECT_LE(group_count(gradients({loss}, {}, {x})[0]), 3);
}

// Targets that are there are looked at where they lie.
TEST(Loss, TargetsThatAreLeftOutAreCheckedWithoutComputing) {
  for (Dtype dtype : {Dtype::int64, Dtype::int32, Dtype::uint64, Dtype::uint8}) {
    const bool wide = dtype != Dtype::uint8;
    Tensor t = make({3}, {2, wide ? 300.0 : 200.0, 0}, dtype);
    const int64_t ignored = wide ? 300 : 200;
    Tensor x = noise({3, 3}, 1), turned = copy(flip(t, {0}));
    evaluate(x);
    evaluate(turned);
    Tensor pending = exp(x);
    Tensor loss = cross_entropy(x, t, 1, {mean_of, {}, ignored});
    EXPECT_FALSE(pending->ready());
    expect_near(loss, read((cross_entropy(slice(x, 0, 0, 1, 1), slice(t, 0, 0, 1, 1), 1, none) +
                            cross_entropy(slice(x, 0, 2, 1, 1), slice(t, 0, 2, 1, 1), 1, none)) *
                           0.5));
    expect_near(cross_entropy(x, flip(turned, {0}), 1, {mean_of, {}, ignored}), read(loss));
    // Another number is none of these, though the targets' type may cut it down to one.
    EXPECT_EQ(message_of([&] {
                cross_entropy(x, t, 1, {mean_of, {}, ignored - 256});
              }),
              "cross_entropy: index " + std::to_string(ignored) +
                  " is outside axis 1 of [3,3], which has size 3");
  }
}

TEST(Loss, NamesFaults) {
  Tensor x = noise({2, 3}, 1), t = make({2}, {0, 4}, Dtype::int64);
  EXPECT_EQ(message_of([&] {
              cross_entropy(x, t, 1, {mean_of, {}, -1});
            }),
            "cross_entropy: index 4 is outside axis 1 of [2,3], which has size 3");
  EXPECT_EQ(message_of([&] {
              cross_entropy(x, t, 1, {mean_of, noise({2}, 1)});
            }),
            "cross_entropy: weight [2] of float64: must be floats [3], one for each class");
  EXPECT_EQ(message_of([&] {
              cross_entropy(x, t, 1, {mean_of, {}, {}, 1.5});
            }),
            "cross_entropy: label_smoothing 1.5 is not within 0 and 1");
  EXPECT_EQ(message_of([&] {
              cross_entropy(x, x, 1, {mean_of, {}, 0});
            }),
            "cross_entropy: ignore_index is for targets that are classes");
  EXPECT_EQ(message_of([] {
              cross_entropy(noise({2, 3}, 1), make({2}, {0, 3}, Dtype::int64), 1, mean_of);
            }),
            "cross_entropy: index 3 is outside axis 1 of [2,3], which has size 3");
  EXPECT_EQ(message_of([] {
              cross_entropy(noise({2, 3}, 1), make({2}, {0, -1}, Dtype::int64), 1, mean_of);
            }),
            "cross_entropy: index -1 is outside axis 1 of [2,3], which has size 3");
  EXPECT_EQ(
      message_of([] {
        cross_entropy(noise({2, 3}, 1), make({3}, {0, 0, 0}, Dtype::int64), 1, mean_of);
      }),
      "cross_entropy: logits [2,3] with int64 targets [3]: must be integers without axis 1, or "
      "probabilities of the logits' shape");
}

}  // namespace
}  // namespace mt::testing
