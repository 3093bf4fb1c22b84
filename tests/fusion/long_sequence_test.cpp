// SPDX-License-Identifier: Apache-2.0
// A sequence too long for one window is computed in parts that have few plans between them.
#include <functional>

#include <gtest/gtest.h>

#include "autodiff/backward.h"
#include "fusion/plan_cache.h"
#include "fusion/profile.h"
#include "fusion/support.h"
#include "fusion/training.h"

namespace mt::testing {
namespace {

// The sum of a recurrent network's states, of 11 operators a position.
Tensor sum_of_states(const Tensor& weight, int64_t positions, int64_t batch = 2) {
  Tensor h = full({batch, 4}, 0.5, Dtype::float32, find_device("cpu"));
  Tensor all = full({batch, 4}, 0, Dtype::float32, find_device("cpu"));
  for (int64_t t = 0; t < positions; ++t) {
    Tensor z = matmul(h, weight);
    Tensor gate = sigmoid(z + 0.5);
    h = gate * h + (1.0 - gate) * tanh(z * 2.0) + h * 0.125;
    all = all + h;
  }
  return sum(all);
}

int64_t plans_made_in(const std::function<void()>& work) {
  Profile profile;
  work();
  profile.stop();
  for (const Profile::Kind& kind : profile.kinds()) {
    if (kind.name == "planning") return kind.runs;
  }
  return 0;
}

class LongSequence : public ::testing::Test {
 protected:
  void SetUp() override {
    install_fusing_evaluator();
    PlanCache::instance().clear();  // a full one may drop any
  }
};

TEST_F(LongSequence, HasFewPlans) {
  Tensor weight = parameter({4, 4}, 7);
  Value deferred, eager;
  const auto run = [&] { deferred = value_of(sum_of_states(weight, 6000)); };
  EXPECT_LE(plans_made_in(run), 8);
  EXPECT_EQ(plans_made_in(run), 0) << "the parts are the same each time";
  set_eager_mode(true);
  eager = value_of(sum_of_states(weight, 6000));
  set_eager_mode(false);
  EXPECT_EQ(deferred, eager);
}

TEST_F(LongSequence, HasFewPlansForItsGradient) {
  Tensor weight = parameter({4, 4}, 7);
  const auto run = [&] {
    weight->variable->gradient.set(nullptr);
    backward(sum_of_states(weight, 3000, 3), nullptr, false);
    evaluate(weight->variable->gradient.get());
  };
  EXPECT_LE(plans_made_in(run), 16);
}

// Cheap values that histories hold keep their recipes; where these are too many, all of them are
// computed at once, not layer by layer.
TEST_F(LongSequence, HasFewPlansForHistoriesOfCheapOperators) {
  Tensor start = parameter({32}, 7);
  const auto gradient = [&] {
    start->variable->gradient.set(nullptr);
    Tensor x = start;
    for (int i = 0; i < 10000; ++i) x = sin(x) * 0.99 + 0.01;
    backward(sum(x), nullptr, false);
    return value_of(start->variable->gradient.get());
  };
  Value deferred;
  EXPECT_LE(plans_made_in([&] { deferred = gradient(); }), 10);
  set_eager_mode(true);
  const Value eager = gradient();
  set_eager_mode(false);
  EXPECT_EQ(deferred, eager);
}

// A value that is asked for begins a new sequence, which is not cut before it is too long.
TEST_F(LongSequence, BeginsAnewWithEachValue) {
  Tensor weight = parameter({4, 4}, 7);
  value_of(sum_of_states(weight, 1000, 5));
  const auto run = [&] { value_of(sum_of_states(weight, 330, 5)); };
  EXPECT_EQ(plans_made_in(run), 1);
}

}  // namespace
}  // namespace mt::testing
