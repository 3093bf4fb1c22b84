// SPDX-License-Identifier: Apache-2.0
#include "autodiff/backward.h"

#include <gtest/gtest.h>

#include "fusion/support.h"
#include "tensor/error.h"

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
  EXPECT_EQ(code_of([&] { backward(sum(floor(detach(x))), nullptr, false); }), Code::no_gradient);
  EXPECT_EQ(code_of([&] { backward(sum(x), ones_like(x), false); }), Code::shape);
  EXPECT_FALSE(x->variable->gradient.get());
}

}  // namespace
}  // namespace mt::testing
