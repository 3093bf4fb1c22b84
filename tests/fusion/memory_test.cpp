// SPDX-License-Identifier: Apache-2.0
// What stays in memory, and how much of it there is at most.
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "base/allocator.h"
#include "fusion/planned.h"
#include "fusion/support.h"
#include "fusion/training.h"
#include "graph/modes.h"
#include "graph/tape.h"
#include "graph/window.h"

namespace mt::testing {
namespace {

class Memory : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }
};

bool is_stored(const StateSlot& place) {
  Tensor value = place.get();
  return value && value->ready();
}

int64_t in_use() { return host_allocator().statistics().in_use; }

int64_t peak_of_training(bool eager) {
  Network network(256, 128, 256);
  set_eager_mode(eager);
  for (int i = 0; i < 3; ++i) value_of(network.step());
  int64_t before = in_use();
  host_allocator().reset_peak();
  for (int i = 0; i < 3; ++i) value_of(network.step());
  int64_t peak = host_allocator().statistics().peak - before;
  set_eager_mode(false);
  return peak;
}

TEST_F(Memory, TrainingNeedsAtMostWhatEagerRunningDoesAndACopyOfTheParameters) {
  int64_t eager = peak_of_training(true), deferred = peak_of_training(false);
  EXPECT_LE(deferred, eager + Network(1, 128, 256).bytes());
}

// Layers whose activations wait for the gradient: GELU's results, which their layer's gradient
// reads, are made anew of its operands, which wait for GELU's own.
TEST_F(Memory, LargePlansMakeActivationsAnew) {
  constexpr int layers = 8;
  constexpr int64_t rows = 16384, width = 64, bytes = rows * width * 4;
  Tensor weights[layers];
  for (int i = 0; i < layers; ++i) {
    weights[i] = parameter({width, width}, static_cast<uint64_t>(i) + 2);
  }
  auto gradients = [&] {
    Tensor x = random_leaf({rows, width});
    for (Tensor& weight : weights) {
      weight->variable->gradient.set(nullptr);
      x = gelu(matmul(x, weight) * 0.2);
    }
    backward(sum(x), nullptr, false);
    std::vector<Tensor> results;
    for (Tensor& weight : weights) results.push_back(weight->variable->gradient.get());
    return results;
  };
  set_eager_mode(true);
  const std::vector<Value> eager = evaluated(gradients());
  set_eager_mode(false);
  const int64_t before = in_use();
  host_allocator().reset_peak();
  EXPECT_EQ(evaluated(gradients()), eager);
  // Of each layer GELU's operand; one more for x, and a few for what is at work.
  EXPECT_LE(host_allocator().statistics().peak - before, (layers + 5) * bytes);
}

// What was prepared before a loop, and is held, is not prepared anew in each step.
TEST_F(Memory, WhatIsReadAThirdTimeIsKept) {
  Tensor raw = random_leaf({64, 64}), half = raw * 0.5, scaled = half - 1.0;
  const Node* inner = half.node();
  half = nullptr;
  Tensor repeated = full({64}, 2, Dtype::float32, find_device("cpu"));
  Tensor weight = random_leaf({64, 8});
  Value first;
  for (int read = 1; read <= 4; ++read) {
    Value value = value_of(matmul(scaled + repeated, weight));
    if (read == 1) first = value;
    EXPECT_EQ(value, first);
    EXPECT_EQ(scaled->ready(), read >= 3) << read;
    EXPECT_FALSE(repeated->ready());
    if (read < 3) {
      EXPECT_FALSE(inner->ready());
    }
  }
}

TEST_F(Memory, ARunningTotalStaysFlat) {
  for (int64_t reads : {0, 7}) {
    Tensor total = full({}, 0, Dtype::float32, find_device("cpu"));
    Tensor x = random_leaf({16});
    int64_t nodes = 0, bytes = 0;
    for (int64_t i = 0; i < 10000; ++i) {
      Tensor loss = sum(x * static_cast<double>(i % 3));
      total = total + loss;
      if (reads && i % reads == 0) value_of(loss);
      flush();
      if (i == 100) {
        nodes = Window::current().count();
        bytes = in_use();
      } else if (i > 100) {
        ASSERT_LE(Window::current().count(), nodes + 40);
        ASSERT_LE(in_use(), bytes + 40 * 64);
      }
    }
    value_of(total);
  }
}

TEST_F(Memory, ARunningTotalStaysFlatWithoutAFlush) {
  Tensor total = full({}, 0, Dtype::float32, find_device("cpu"));
  Tensor x = random_leaf({16});
  int64_t before = in_use();
  for (int i = 0; i < 10000; ++i) {
    total = total + sum(x);
    ASSERT_LE(Window::current().count(), 4200);
    ASSERT_LE(in_use() - before, 1 << 20);
  }
  Tensor part = sum(x);
  float expected = 0, term = 0;
  std::memcpy(&term, value_of(part).bytes.data(), 4);
  for (int i = 0; i < 10000; ++i) expected += term;
  float got = 0;
  std::memcpy(&got, value_of(total).bytes.data(), 4);
  EXPECT_EQ(got, expected);
}

TEST_F(Memory, AChainOfAMillionNodesIsBuiltAndReleased) {
  int64_t before = in_use();
  for (bool history : {false, true}) {
    Tensor x = parameter({1}), y = x;
    GradientMode mode(history);
    // With its history every node stays to the end.
    for (int i = 0; i < (history ? 100000 : 1000000); ++i) y = neg(y);
    EXPECT_EQ(value_of(y), value_of(x));
  }
  EXPECT_EQ(in_use(), before);
  {
    // A tape keeps the inputs of all million.
    Tape tape;
    tape.begin();
    Tensor y = random_leaf({2, 3});
    for (int i = 0; i < 1000000; ++i) y = transpose(y);
    EXPECT_EQ(y.shape(), Shape({2, 3}));
  }
  EXPECT_EQ(in_use(), before);
}

TEST_F(Memory, HeldCheapValuesKeepTheirRecipe) {
  Tensor x = random_leaf({1000}), y = random_leaf({1000}, 2);
  Tensor cheap = exp(x) * y + 1.0;
  Tensor costly = sum(cheap);
  value_of(costly);
  EXPECT_FALSE(cheap->ready());
  Tensor again = exp(x) * y + 1.0;
  set_eager_mode(true);
  Tensor eager = exp(x) * y + 1.0;
  set_eager_mode(false);
  EXPECT_EQ(value_of(cheap), value_of(eager));
  EXPECT_EQ(value_of(again), value_of(eager));
}

// Such as a loss of every step, in a list: each evaluation would look at all of them.
TEST_F(Memory, HeldSingleNumbersAreStored) {
  Tensor x = random_leaf({1000});
  Tensor held = sum(x) * 0.5;
  Tensor through_view = reshape(sum(x) * 0.25, {1, 1});
  value_of(sum(x * 2.0));
  EXPECT_TRUE(held->ready());
  EXPECT_TRUE(through_view->ready());
}

TEST_F(Memory, LongRecipesAreStored) {
  Tensor x = random_leaf({1000});
  auto chain = [&](int length) {
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = sin(y);
    return y;
  };
  Tensor short_one = chain(16), long_one = chain(17);
  flush();
  EXPECT_FALSE(short_one->ready());
  EXPECT_TRUE(long_one->ready());
  auto sum_of = [&](int count) {
    Tensor y = random_leaf({1000}, 1);
    for (int i = 1; i < count; ++i) y = y + random_leaf({1000}, static_cast<uint64_t>(i) + 1);
    return y;
  };
  Tensor four = sum_of(4), five = sum_of(5);
  flush();
  EXPECT_FALSE(four->ready());
  EXPECT_TRUE(five->ready());
}

// A recipe is only as good as what it reads: inputs that nobody else holds stay alive for it, and
// nothing may take over their memory.
TEST_F(Memory, RecipesKeepTheirInputs) {
  Tensor x = random_leaf({1000});
  Value before = value_of(x);
  Tensor held = x * 2.0;
  Tensor other = exp(x);
  x = nullptr;
  value_of(other);
  EXPECT_FALSE(held->ready());
  set_eager_mode(true);
  Tensor expected = random_leaf({1000}) * 2.0;
  set_eager_mode(false);
  EXPECT_EQ(value_of(held), value_of(expected));
}

TEST_F(Memory, HeldDearValuesAndStateAreStored) {
  Tensor x = random_leaf({20, 30});
  Tensor held = sum(x, {0});
  StateSlot cheap(x * 2.0), view(transpose(exp(x)));
  flush();
  EXPECT_TRUE(held->ready());
  EXPECT_TRUE(is_stored(cheap));
  EXPECT_TRUE(is_stored(view));
}

TEST_F(Memory, MemoryIsReusedWhenAValueIsReplaced) {
  StateSlot state(random_leaf({100000}));
  for (int i = 0; i < 3; ++i) {
    state.set(state.get() * 0.5);
    flush();
  }
  int64_t before = in_use();
  host_allocator().reset_peak();
  const void* place = state.get()->data();
  state.set(state.get() * 0.5);
  flush();
  EXPECT_EQ(state.get()->data(), place);
  EXPECT_LT(host_allocator().statistics().peak - before, 4096);
  // A reader of the old value keeps it as it was.
  Tensor old = state.get();
  Value old_value = value_of(old);
  state.set(old * 0.5);
  flush();
  EXPECT_EQ(value_of(old), old_value);
}

// Assignments take over what they replace a part of, one after another and where others made it.
TEST_F(Memory, AssignmentsAreMadeInPlace) {
  constexpr int64_t rows = 500, width = 200;
  const IndexItem third{IndexItem::at, 3}, some{IndexItem::range, 5, 490, 4};
  StateSlot state(random_leaf({rows, width}));
  Device& device = state.get().device();
  IndexItem listed{IndexItem::by};
  listed.tensor = remainder(iota({40}, Dtype::int64, device), integer_number(17, device));
  evaluate(listed.tensor);
  const Tensor line = random_leaf({width}), block = random_leaf({40, width});
  auto assign = [&] {
    state.set(index_put(state.get(), {third}, line));
    state.set(index_put(state.get() * 0.5, {some}, line));
    state.set(index_put(state.get(), {listed}, block));
    Tensor row = slice(state.get(), 0, 7, 1, 1);
    state.set(index_put(state.get(), {third}, reshape(row, {width})));  // which it reads as it was
  };
  set_eager_mode(true);
  Tensor start = state.get();
  assign();
  Value expected = value_of(state.get());
  set_eager_mode(false);
  state.set(start);
  assign();
  EXPECT_EQ(value_of(state.get()), expected);

  start = nullptr;
  const void* place = state.get()->data();
  int64_t before = in_use();
  host_allocator().reset_peak();
  for (int i = 0; i < 3; ++i) {
    state.set(index_put(state.get(), {third}, line));
    flush();
    state.set(index_put(index_put(state.get(), {listed}, block), {some}, line));
    flush();
  }
  EXPECT_EQ(state.get()->data(), place);
  EXPECT_LT(host_allocator().statistics().peak - before, rows * width);
  Tensor old = state.get();
  Value old_value = value_of(old);
  state.set(index_put(old, {third}, line * 2.0));
  flush();
  EXPECT_EQ(value_of(old), old_value);
}

std::vector<Value> eagerly(const std::function<std::vector<Tensor>()>& f) {
  set_eager_mode(true);
  std::vector<Value> values = values_of(f());
  set_eager_mode(false);
  return values;
}

// Rows that are made of the ones before, each assigned to its place.
TEST_F(Memory, AssignmentsAreMadeInPlaceThoughWhatTheyReplaceWasReadBefore) {
  const Tensor start = random_leaf({64, 200});
  const auto f = [&]() -> std::vector<Tensor> {
    Tensor z = start * 0.5;
    for (int64_t q = 1; q < 20; ++q) {
      const IndexItem place{IndexItem::at, q};
      z = index_put(z, {place}, select(z, 0, q - 1) * 0.5 + 1.0);
    }
    return {z};
  };
  std::set<int> places;
  const Plan plan = planned(f()[0]);
  for (const Group& group : plan.groups) {
    if (auto* call = std::get_if<CallGroup>(&group.work)) places.insert(call->output.buffer);
  }
  EXPECT_EQ(places.size(), 1u);
  EXPECT_EQ(evaluated(f()), eagerly(f));
}

TEST_F(Memory, WhatIsReadAfterAnAssignmentIsAsItWas) {
  const Tensor start = random_leaf({6, 10}), made = random_leaf({10, 4 * 9 * 9});
  const Tensor weight = random_leaf({5, 4, 3, 3});
  const Tensor line = random_leaf({4, 9, 9});
  const IndexItem first{IndexItem::at, 0};
  const auto f = [&]() -> std::vector<Tensor> {
    const Tensor x = reshape(matmul(start, made), {6, 4, 9, 9});
    // One is merged with the other, which comes after the assignment.
    const Tensor before = select(x, 0, 0) * 3.0, z = index_put(x, {first}, line);
    const Tensor after = select(z, 0, 1) * 3.0;
    // Padding is made when the convolution reads it.
    const Tensor padded = pad(x, {0, 0, 1, 1}, {0, 0, 1, 1}, 0.0);
    const Tensor y =
        convolution(padded, weight * sum(z), nullptr, {{1, 1}, {0, 0}, {1, 1}, {0, 0}});
    return {z, before, after, y};
  };
  EXPECT_EQ(evaluated(f()), eagerly(f));
}

}  // namespace
}  // namespace mt::testing
