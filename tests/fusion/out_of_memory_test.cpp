// SPDX-License-Identifier: Apache-2.0
// Every allocation of a training step fails once: the error says so, nothing has changed, nothing
// is lost, and the step can be taken again.
#include <gtest/gtest.h>

#include "base/allocator.h"
#include "base/error.h"
#include "fusion/training.h"
#include "graph/modes.h"

namespace mt::testing {
namespace {

struct Outcome {
  std::vector<Value> state;
  Value loss;
};

Outcome two_steps() {
  Network network(16, 12, 20);
  value_of(network.step());
  Tensor loss = network.step();
  Outcome outcome;
  outcome.loss = value_of(loss);
  outcome.state = evaluated(network.state());
  return outcome;
}

void fails_everywhere(bool eager) {
  install_fusing_evaluator();
  set_eager_mode(false);
  Outcome expected = two_steps();
  int64_t failures = 0, allocations = 1;
  for (int64_t n = 0; n <= allocations; ++n) {
    int64_t at_start = host_allocator().statistics().in_use;
    {
      Network network(16, 12, 20);
      value_of(network.step());
      std::vector<Value> before = evaluated(network.state());
      int64_t in_use = host_allocator().statistics().in_use;
      Tensor loss;
      bool failed = false;
      auto attempt = [&](auto&& f) {
        try {
          f();
        } catch (const Error& error) {
          failed = true;
          EXPECT_EQ(error.code(), Code::memory) << error.what();
          std::string text = error.what();
          EXPECT_NE(text.find("out of memory"), std::string::npos) << text;
          EXPECT_GT(text.find(':'), 0u) << text;
        }
      };
      int64_t first = host_allocator().statistics().allocations;
      set_eager_mode(eager);
      fail_allocation_after(n);
      attempt([&] { loss = network.step(); });
      bool recorded = !failed;
      if (recorded) attempt([&] { evaluate(loss); });
      if (!failed) attempt([&] { evaluate(network.state().data(), 8); });
      fail_allocation_after(-1);
      set_eager_mode(false);
      if (!failed) {
        allocations = std::max(allocations, host_allocator().statistics().allocations - first);
      } else {
        allocations = std::max(allocations, n + 1);
      }
      if (!recorded) {
        // The step has not happened: the weights are what they were.
        loss = nullptr;
        for (StateSlot& slot : network.weight) slot.get()->variable->gradient.set(nullptr);
        EXPECT_EQ(difference(before, evaluated(network.state())), "") << "allocation " << n;
        EXPECT_LE(host_allocator().statistics().in_use, in_use) << "allocation " << n;
        loss = network.step();
      }
      EXPECT_EQ(difference({expected.loss}, {value_of(loss)}), "") << "allocation " << n;
      EXPECT_EQ(difference(expected.state, evaluated(network.state())), "") << "allocation " << n;
      failures += failed;
    }
    EXPECT_EQ(host_allocator().statistics().in_use, at_start) << "allocation " << n;
  }
  EXPECT_GE(failures, 3);
}

TEST(OutOfMemory, EveryAllocationOfADeferredStep) { fails_everywhere(false); }
TEST(OutOfMemory, EveryAllocationOfAnEagerStep) { fails_everywhere(true); }

TEST(OutOfMemory, NamesTheOperatorAndKeepsThePendingValue) {
  install_fusing_evaluator();
  Tensor x = random_leaf({1000});
  Tensor y = exp(x) + sum(x);
  fail_allocation_after(0);
  try {
    evaluate(y);
    FAIL() << "had memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::memory);
    std::string name(error.what(), std::string(error.what()).find(':'));
    EXPECT_TRUE(name == "add" || name == "exp" || name == "sum") << error.what();
  }
  fail_allocation_after(-1);
  EXPECT_FALSE(y->ready());
  set_eager_mode(true);
  Tensor expected = exp(x) + sum(x);
  set_eager_mode(false);
  EXPECT_EQ(value_of(y), value_of(expected));
}

// More than the window's budget of bytes, so that recording wants to compute it, as reading does.
TEST(OutOfMemory, WhatCannotBeHadKeepsNobodyElseFromComputing) {
  install_fusing_evaluator();
  Tensor x = random_leaf({100}), large = random_leaf({1 << 20, 1});
  Tensor impossible = cumulative_sum(large + reshape(large, {1, 1 << 20}) + large, 1);
  Tensor expected = exp(x);
  EXPECT_EQ(value_of(exp(x)), value_of(expected));
  EXPECT_THROW(evaluate(impossible), Error);
  EXPECT_FALSE(impossible->ready());
}

// What does not fit is left pending, with all that its recipe needs.
TEST(OutOfMemory, LeavesWhatHeldValuesAreMadeOf) {
  install_fusing_evaluator();
  constexpr int64_t n = 512, bytes = n * n * 4;
  const Tensor factor = random_leaf({n, n});
  Tensor x = random_leaf({n, n}, 2) * 3.0;
  const Value expected = value_of(x * 2.0);
  evaluate(x);
  const Tensor product = matmul(factor, factor), held = x * 2.0, wanted = tanh(held);
  x = nullptr;
  Allocator& allocator = host_allocator();
  allocator.release_cached();
  allocator.set_limit(allocator.statistics().in_use + bytes + 4096);  // not for the product, too
  evaluate(wanted);
  allocator.set_limit(0);
  EXPECT_FALSE(product->ready());
  EXPECT_FALSE(held->ready());
  EXPECT_EQ(value_of(held), expected);
}

}  // namespace
}  // namespace mt::testing
