// SPDX-License-Identifier: Apache-2.0
// Which padding is left to the contraction that reads it. Its values are tested as convolutions.
#include "backends/cpu/contract/windows/padding.h"

#include <gtest/gtest.h>

#include "autodiff/backward.h"
#include "fusion/evaluator.h"
#include "fusion/planning/planner.h"
#include "fusion/select.h"
#include "graph/evaluate.h"
#include "graph/window.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

Plan plan_of(std::vector<Tensor> tensors) {
  Window& window = Window::current();
  OwnerLock::Hold hold(window.lock, &current_thread());
  Region region;
  Plan plan;
  select(window, tensors.data(), tensors.size());
  build_region(window, tensors[0].device(), &region);
  make_plan(region, &plan);
  return plan;
}

// How many contractions of the plan make their padding.
int found(const Plan& plan) {
  int count = 0;
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    if (plan.groups[g].kind() != GroupKind::contract) continue;
    count += cpu::find_padding(plan, static_cast<int>(g)).group >= 0;
  }
  return count;
}

class Padding : public ::testing::Test {
 protected:
  void SetUp() override {
    install_fusing_evaluator();
    flush();  // what earlier tests left
  }
  Tensor x = noise({3, 4, 20, 24}, 1, Dtype::float32), w = noise({6, 4, 3, 3}, 2, Dtype::float32);
  Tensor each = noise({4, 1, 3, 3}, 3, Dtype::float32);
  Convolution same{{1, 1}, {1, 1}, {1, 1}, {0, 0}, 1}, depthwise{{1, 1}, {1, 1}, {1, 1}, {0, 0}, 4};
};

TEST_F(Padding, IsLeftToConvolutionsAndTheirGradients) {
  EXPECT_EQ(found(plan_of({convolution(x, w, nullptr, same)})), 1);
  EXPECT_EQ(found(plan_of({convolution(x, each, nullptr, depthwise)})), 1);
  // Not within the call: what makes noise computes what is pending.
  Tensor next = noise({2, 6, 3, 3}, 4, Dtype::float32);
  Tensor z = convolution(relu(convolution(x, w, nullptr, same)), next, nullptr, same);
  EXPECT_EQ(found(plan_of({z})), 2);
  // Whose result would fit the place of what is padded.
  Tensor square = noise({4, 4, 3, 3}, 5, Dtype::float32),
         point = noise({6, 4, 1, 1}, 6, Dtype::float32);
  const Convolution none{{1, 1}, {0, 0}, {1, 1}, {0, 0}, 1};
  Tensor y = convolution(
      convolution(relu(convolution(x, square, nullptr, same)), each, nullptr, depthwise), point,
      nullptr, none);
  EXPECT_EQ(found(plan_of({y})), 2);
}

TEST_F(Padding, OfOneChannelOfAllImagesIsLeftToADepthwiseWeightsGradient) {
  for (auto [weight, how, expected] : {std::tuple{each, depthwise, 1}, {w, same, 0}}) {
    Tensor parameter = leaf(weight);
    Tensor y = convolution(x, parameter, nullptr, how);
    Tensor dy = noise(y.shape(), 5, Dtype::float32);
    evaluate(y);
    EXPECT_EQ(found(plan_of(gradients({y}, {dy}, {parameter}))), expected);
  }
}

TEST_F(Padding, OfAPanelIsLeftToALongWeightsGradient) {
  Tensor images = noise({9, 4, 20, 24}, 1, Dtype::float32), parameter = leaf(w);
  for (auto [border, expected] : {std::tuple{1, 1}, {2, 1}, {0, 0}}) {
    const Convolution how{{1, 1}, {1, border}, {1, 1}, {0, 0}, 1};
    Tensor y = convolution(images, parameter, nullptr, how);
    Tensor dy = noise(y.shape(), 5, Dtype::float32);
    evaluate(y);
    EXPECT_EQ(found(plan_of(gradients({y}, {dy}, {parameter}))), expected) << border;
  }
}

TEST_F(Padding, ThatOthersReadIsMade) {
  Tensor padded = pad(x, {0, 0, 1, 1}, {0, 0, 1, 1}, 0);
  const Convolution none{{1, 1}, {0, 0}, {1, 1}, {0, 0}, 1};
  EXPECT_EQ(found(plan_of({convolution(padded, w, nullptr, none)})), 0);  // it is held
  EXPECT_EQ(found(plan_of({convolution(padded, w, nullptr, none), sum(padded)})), 0);
}

TEST_F(Padding, TooLargeForTheCacheIsMade) {
  Tensor wide = noise({1, 4, 300, 300}, 1, Dtype::float32);
  EXPECT_EQ(found(plan_of({convolution(wide, w, nullptr, same)})), 0);
}

}  // namespace
}  // namespace mt::testing
