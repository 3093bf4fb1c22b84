// SPDX-License-Identifier: Apache-2.0
#include "autodiff/backward.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "fusion/explain.h"
#include "fusion/support.h"
#include "graph/modes.h"

namespace mt::testing {
namespace {

class Backward : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }

  static Tensor leaf(uint64_t seed) { return parameter({4}, seed); }
  static void expect_same(const Tensor& a, const Tensor& b) { EXPECT_EQ(value_of(a), value_of(b)); }
};

TEST_F(Backward, GradientsOfSeveralOutputsAddUp) {
  Tensor x = leaf(1), y = leaf(2), z = leaf(3);
  std::vector<Tensor> found = gradients({x * y, x}, {ones_like(x), ones_like(x) * 2.0}, {x, y, z});
  expect_same(found[0], y + 2.0);
  expect_same(found[1], x * 1.0);
  EXPECT_FALSE(found[2]);  // no path leads there
}

TEST_F(Backward, AnInputOnTheWayKeepsItsGradient) {
  Tensor x = leaf(1), square = x * x, y = sum(square * 3.0);
  std::vector<Tensor> found = gradients({y}, {}, {square, x, x});
  expect_same(found[0], ones_like(x) * 3.0);
  expect_same(found[1], found[2]);
  expect_same(found[1], x * 3.0 + x * 3.0);
}

TEST_F(Backward, NothingIsAccumulatedOrForgottenByGradients) {
  Tensor x = leaf(1), y = sum(exp(x));
  expect_same(gradients({y}, {}, {x})[0], gradients({y}, {}, {x})[0]);
  EXPECT_FALSE(x->variable->gradient.get());
}

TEST_F(Backward, AccumulatesInEveryLeaf) {
  Tensor x = leaf(1), y = leaf(2);
  backward(sum(x * y), nullptr, false);
  backward(sum(x), nullptr, false);
  expect_same(x->variable->gradient.get(), y + 1.0);
  expect_same(y->variable->gradient.get(), x * 1.0);
}

TEST_F(Backward, GradientsOfGradients) {
  Tensor x = leaf(1);
  Tensor first = gradients({sum(x * x * x)}, {}, {x})[0];
  Tensor second = gradients({sum(first)}, {}, {x})[0];
  Tensor third = gradients({sum(second)}, {}, {x})[0];
  expect_same(third, full({4}, 6, third.dtype(), third.device()));
}

// Comparisons among what gradients record have a slope of zero; those of one's own have no
// gradient.
TEST_F(Backward, GradientsOfStepsAreZero) {
  for (auto* step : {sign, floor, ceil, trunc, round}) {
    Tensor x = leaf(1);
    expect_same(gradients({sum(step(x) + x)}, {}, {x})[0], ones_like(x));
    backward(sum(step(x)), nullptr, false);
    expect_same(x->variable->gradient.get(), zeros_like(x));
  }
  Tensor x = leaf(1);
  const Tensor pieces[] = {relu(x), abs(x), maximum(x, zeros_like(x)), max(x, {0}),
                           leaky_relu(x, number(0.1, x))};
  for (bool eager : {false, true}) {
    set_eager_mode(eager);
    for (const Tensor& y : pieces) {
      Tensor first = gradients({sum(y)}, {}, {x})[0];
      EXPECT_TRUE(first.requires_gradient());
      const Tensor second = gradients({sum(first)}, {}, {x})[0];
      if (second) expect_same(second, zeros_like(x));
      expect_same(gradients({sum(first * x)}, {}, {x})[0], first);
    }
  }
  set_eager_mode(false);
  EXPECT_FALSE(greater(x, zeros_like(x)).requires_gradient());
  const Tensor y = sum(pieces[0]);
  GradientMode none(false);
  EXPECT_FALSE(gradients({y}, {}, {x})[0].requires_gradient());
}

// What many products of few rows contribute to their weight's gradient is one product, of a leaf as
// of what is made of one, and as it would be one by one; whole numbers make all sums exact.
TEST_F(Backward, ProductsShareTheirWeightsGradient) {
  constexpr int64_t steps = 6, rows = 2, in = 8, out = 12;
  auto whole = [](const Shape& shape, uint64_t seed) {
    Tensor x = detach(floor(random_leaf(shape, seed) * 8.0));
    evaluate(x);
    return x;
  };
  Tensor w = parameter({out, in}, 1);
  Tensor x = whole({steps, rows, in}, 2), seeds = whole({steps, rows, out}, 3);
  auto loss = [&](const Tensor& weight, bool apart) {
    Tensor total;
    for (int64_t t = 0; t < steps; ++t) {
      Tensor own = apart ? weight * 1.0 : weight;
      Tensor y = linear(select(x, 0, t), own, nullptr) * select(seeds, 0, t);
      total = total ? total + sum(y) : sum(y);
    }
    return total;
  };
  Tensor expected = gradients({loss(w, true)}, {}, {w})[0];
  evaluate(expected);
  Tensor found = gradients({loss(w, false)}, {}, {w})[0];
  std::string plan = explain(found);
  size_t first = plan.find("= contract(");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(plan.find("= contract(", first + 1), std::string::npos) << plan;
  expect_same(found, expected);
  expect_same(gradients({loss(w * 2.0, false)}, {}, {w})[0], expected * 2.0);
  set_eager_mode(true);
  Tensor eager = gradients({loss(w, false)}, {}, {w})[0];
  set_eager_mode(false);
  expect_same(eager, expected);
  Tensor square = sum(gradients({loss(w * w, false)}, {}, {w})[0]);
  expect_same(gradients({square}, {}, {w})[0], expected * 2.0);
}

// `row` for each row of x.
Tensor repeated(const std::vector<double>& row, const Tensor& x) {
  std::vector<Tensor> numbers;
  for (double value : row) numbers.push_back(full({1}, value, x.dtype(), x.device()));
  return expand(concat(numbers, 0), x.shape());
}

// The gradient of slices of x's transpose along its first axis, each times a number of its own.
Tensor gradient_of_slices(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& slices) {
  Tensor turned = transpose(x), y = number(0, x.device());
  double factor = 1;
  for (auto [start, length] : slices) {
    y = y + sum(slice(turned, 0, start, length, 1) * factor++);
  }
  return gradients({y}, {}, {x})[0];
}

TEST_F(Backward, SlicesThatTileAValueAreJoinedOnce) {
  Tensor x = parameter({2, 6}, 1);
  Tensor dx = gradient_of_slices(x, {{4, 2}, {0, 3}, {3, 1}});
  std::string plan = explain(dx);
  EXPECT_NE(plan.find("concat"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("pad"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("copy"), std::string::npos) << plan;
  expect_same(dx, repeated({2, 2, 2, 3, 1, 1}, x));
}

TEST_F(Backward, SlicesThatOverlapOrLeaveGapsAddUp) {
  Tensor x = parameter({2, 6}, 1);
  expect_same(gradient_of_slices(x, {{1, 3}, {2, 2}}), repeated({0, 1, 3, 3, 0, 0}, x));
  expect_same(gradient_of_slices(x, {{0, 2}, {3, 3}}), repeated({1, 1, 0, 2, 2, 2}, x));
}

TEST_F(Backward, ASliceOfWhatWasEmbeddedIsJustThat) {
  Tensor x = leaf(1), wide = place_along(x, {9}, 0, 3, 1);
  EXPECT_EQ(slice(wide, 0, 3, 4, 1).node(), x.node());
  EXPECT_NE(slice(wide, 0, 2, 4, 1).node(), x.node());
}

TEST_F(Backward, RefusesWhatHasNoGradient) {
  Tensor x = leaf(1);
  auto code_of = [](auto&& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.code();
    }
    return Code::ok;
  };
  EXPECT_EQ(code_of([&] { backward(x * 2.0, nullptr, false); }), Code::shape);
  EXPECT_EQ(code_of([&] { backward(sum(detach(x)), nullptr, false); }), Code::no_gradient);
  EXPECT_EQ(code_of([&] { backward(sum(x), ones_like(x), false); }), Code::shape);
  auto message_of = [](const Tensor& y) -> std::string {
    try {
      backward(y, nullptr, false);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  // Only an operator that has no gradient is to blame.
  EXPECT_EQ(message_of(sum(floor_divide(x, x) * 2.0)),
            "backward: sum[] came through floor_divide, which has no gradient");
  EXPECT_EQ(message_of(sum(cast(cast(x, Dtype::int32), Dtype::float32))),
            "backward: sum[] came through cast, which has no gradient");
  const std::string unrecorded =
      "which was recorded without gradients: within no_grad, or by a grad that was not to create a "
      "graph";
  // ... the first one: what lies before it was recorded.
  EXPECT_EQ(message_of(sum(floor_divide(exp(x * 2.0), x))),
            "backward: sum[] came through floor_divide, which has no gradient");
  const Tensor y = sum(x * x * floor_divide(x, x));
  GradientMode none(false);
  EXPECT_EQ(message_of(sum(gradients({y}, {}, {x})[0])),
            "backward: sum[] came through mul, " + unrecorded);
  EXPECT_EQ(message_of(sum(exp(x))), "backward: sum[] came through exp, " + unrecorded);
  EXPECT_FALSE(x->variable->gradient.get());
}

}  // namespace
}  // namespace mt::testing
