// SPDX-License-Identifier: Apache-2.0
#include "nn/optimizer.h"

#include <limits>

#include "autodiff/backward.h"
#include "fusion/planning/planner.h"
#include "fusion/select.h"
#include "graph/window.h"
#include "nn/support.h"

namespace mt {
namespace {

using Vector = std::vector<double>;

class OptimizerTest : public FileTest {
 protected:
  static Vector gradient_at(int t, int parameter, size_t count) {
    return numbers(count, static_cast<uint64_t>(100 * t + parameter));
  }
};

TEST_F(OptimizerTest, RefusesImpossibleRates) {
  Ref<Parameters> parameters = make_parameters();
  for (double rate :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(error_of([&] { Optimizer(parameters, rate, make_rule(SgdOptions{})); }).code(),
              Code::invalid);
    Optimizer optimizer(parameters, 0.5, make_rule(SgdOptions{}));
    EXPECT_EQ(error_of([&] { optimizer.set_learning_rate(rate); }).code(), Code::invalid);
    EXPECT_EQ(optimizer.learning_rate(), 0.5);
  }
}

TEST_F(OptimizerTest, LeavesFrozenAndUnusedParameters) {
  Ref<Parameters> parameters = make_parameters();
  Device& device = parameters->device;
  Binding& used = parameters->create("used", full({2}, 1, Dtype::float32, device), false);
  Binding& unused = parameters->create("unused", full({2}, 1, Dtype::float32, device), false);
  Binding& frozen = parameters->create("frozen", full({2}, 1, Dtype::float32, device), false);
  parameters->create("buffer", full({2}, 1, Dtype::int32, device), true);
  frozen.set_gradient(full({2}, 1, Dtype::float32, device));
  static_cast<PlainBinding&>(frozen).freeze();
  Optimizer optimizer(parameters, 0.5, make_rule(SgdOptions{}));
  // Added later, and trained all the same.
  Binding& late = parameters->create("late", full({3}, 1, Dtype::float32, device), false);
  used.set_gradient(full({2}, 1, Dtype::float32, device));
  late.set_gradient(full({3}, 1, Dtype::float32, device));
  optimizer.step();
  EXPECT_EQ(to_doubles(used.value()), Vector({0.5, 0.5}));
  EXPECT_EQ(to_doubles(unused.value()), Vector({1, 1}));
  EXPECT_EQ(to_doubles(frozen.value()), Vector({1, 1}));
  EXPECT_EQ(to_doubles(late.value()), Vector({0.5, 0.5, 0.5}));
  EXPECT_EQ(to_doubles(used.gradient()), Vector({1, 1}));  // a step leaves gradients
}

// Through whatever changes between two steps: rates, which gradients exist and whether they are
// computed, what is frozen, what is added.
TEST_F(OptimizerTest, ReplayedStepsEqualRecordedOnes) {
  auto train = [](bool replayed) {
    Ref<Parameters> parameters = make_parameters();
    Device& device = parameters->device;
    auto create = [&](const char* name, const Shape& shape) -> Binding& {
      Vector start = numbers(size_t(element_count(shape)), uint64_t(shape.rank()));
      return parameters->create(name, from_doubles(start, shape, Dtype::float32, device), false);
    };
    Binding* a = &create("a", {40, 3});
    create("b", {7});
    Binding* large = &create("large", {300, 300});
    Optimizer optimizer(parameters, 0.1, make_rule(AdamOptions{0.9, 0.999, 1e-8, 0.01, true}));
    flush();
    for (int t = 0; t < 8; ++t) {
      if (t == 2) optimizer.set_learning_rate(0.01);
      if (t == 5) static_cast<PlainBinding*>(a)->freeze();
      if (t == 6) create("c", {5});
      std::vector<Tensor> given;
      for (const Parameters::Entry& entry : parameters->entries()) {
        Tensor weight = entry.binding->value();
        given.push_back(from_doubles(gradient_at(t, 1, size_t(weight.size())), weight.shape(),
                                     Dtype::float32, device));
      }
      for (size_t p = 0; p < given.size(); ++p) {
        Binding& binding = *parameters->entries()[p].binding;
        // Some are pending, the large one's too at last.
        if (t > 3 && (&binding != large || t == 7)) given[p] = given[p] * 0.5;
        binding.set_gradient(t == 3 && p == 1 ? nullptr : given[p]);
      }
      given.clear();
      replayed ? optimizer.step() : optimizer.record_step();
      EXPECT_EQ(Window::current().count() == 0, replayed && t < 7) << t;
      flush();
    }
    std::vector<Vector> weights;
    for (const Parameters::Entry& entry : parameters->entries()) {
      weights.push_back(to_doubles(entry.binding->value()));
    }
    return weights;
  };
  EXPECT_EQ(train(true), train(false));
}

TEST_F(OptimizerTest, ReplayedStepsLeaveWeightsInTheirMemory) {
  Ref<Parameters> parameters = make_parameters();
  Tensor start = from_doubles(numbers(100, 1), {100}, Dtype::float32, parameters->device);
  Binding& binding = parameters->create("w", start * 1.0, false);
  binding.set_gradient(start);
  Optimizer optimizer(parameters, 0.1, make_rule(AdamOptions{0.9, 0.999, 1e-8, 0.01, true}));
  auto place_after_a_step = [&] {
    optimizer.step();
    return binding.value()->data();
  };
  place_after_a_step();  // which takes memory of its own: others may have what it began with
  const void* place = place_after_a_step();
  EXPECT_EQ(place_after_a_step(), place);
  EXPECT_EQ(place_after_a_step(), place);
}

// The plan of everything that is pending on this thread.
std::unique_ptr<Plan> pending_plan(Device& device) {
  Window& window = Window::current();
  OwnerLock::Hold hold(window.lock, &current_thread());
  select(window, nullptr, 0);
  Region region;
  build_region(window, device, &region);
  auto plan = std::make_unique<Plan>();
  make_plan(region, plan.get());
  return plan;
}

// Also where some have options of their own: then numbers differ, the kernel does not.
TEST_F(OptimizerTest, AllUpdatesAreOneGroup) {
  Ref<Parameters> parameters = make_parameters(), others = make_parameters();
  Device& device = parameters->device;
  for (int i = 0; i < 100; ++i) {
    Shape shape = i % 3 == 0 ? Shape{i + 2} : i % 3 == 1 ? Shape{i + 1, 3} : Shape{2, i + 2, 2};
    Vector ones(size_t(element_count(shape)), 1);
    (i < 60 ? parameters : others)
        ->create("p" + std::to_string(i), from_doubles(ones, shape, Dtype::float32, device), false)
        .set_gradient(from_doubles(ones, shape, Dtype::float32, device));
  }
  auto expect_one = [&](auto options, auto other_options) {
    Optimizer optimizer(parameters, 0.1, make_rule(options));
    optimizer.add(std::make_shared<Optimizer>(others, 0.02, make_rule(other_options)));
    flush();
    for (int t = 0; t < 3; ++t) {
      optimizer.record_step();
      std::unique_ptr<Plan> plan = pending_plan(device);
      int updates = 0;
      for (const Group& group : plan->groups) {
        ASSERT_EQ(group.kind(), GroupKind::map);
        const std::vector<Segment>& segments = fused_program(group)->segments;
        if (segments.size() >= 100) {
          ++updates;
          EXPECT_EQ(segments.size(), 100u);
        } else {  // numbers that all parameters share
          for (const Segment& segment : segments) {
            EXPECT_EQ(segment.rows * segment.columns, 1);
          }
        }
      }
      EXPECT_EQ(updates, 1);
      EXPECT_LE(plan->groups.size(), 5u);
      flush();
    }
  };
  auto expect_one_of_equals = [&](auto options) { expect_one(options, options); };
  expect_one_of_equals(SgdOptions{});
  expect_one_of_equals(SgdOptions{0.9, 0.1, 0.1, false});
  expect_one_of_equals(AdamOptions{});
  expect_one_of_equals(RmspropOptions{0.9, 1e-8, 0.9, 0.1});
  expect_one_of_equals(AdagradOptions{});
  expect_one(SgdOptions{0.9, 0, 0, false}, SgdOptions{0.5, 0, 0, false});
  expect_one(AdamOptions{0.9, 0.999, 1e-8, 0.01, true}, AdamOptions{0.8, 0.99, 1e-6, 0.1, true});
}

TEST_F(OptimizerTest, TrainsThroughBackward) {
  Ref<Parameters> parameters = make_parameters();
  Binding& w = parameters->create("w", full({3}, 0, Dtype::float32, parameters->device), false);
  Tensor target = make<float>(Dtype::float32, {3}, {1, -2, 3});
  Optimizer optimizer(parameters, 0.1, make_rule(AdamOptions{}));
  for (int i = 0; i < 300; ++i) {
    parameters->zero_gradients();
    backward(sum(square(w.value() - target)), nullptr, false);
    optimizer.step();
  }
  Vector found = to_doubles(w.value());
  EXPECT_NEAR(found[0], 1, 1e-2);
  EXPECT_NEAR(found[1], -2, 1e-2);
  EXPECT_NEAR(found[2], 3, 1e-2);
}

TEST_F(OptimizerTest, GoesOnFromAFile) {
  auto train = [&](int from, int to, Parameters& parameters, Optimizer& optimizer) {
    for (int t = from; t <= to; ++t) {
      int p = 0;
      for (const auto& entry : parameters.entries()) {
        Shape shape = entry.binding->value().shape();
        entry.binding->set_gradient(from_doubles(gradient_at(t, p++, size_t(element_count(shape))),
                                                 shape, Dtype::float32, parameters.device));
      }
      optimizer.step();
    }
  };
  auto fresh = [] {
    Ref<Parameters> parameters = make_parameters();
    parameters->create("a", full({4}, 1, Dtype::float32, parameters->device), false);
    parameters->create("b", full({2, 3}, 1, Dtype::float32, parameters->device), false);
    return parameters;
  };
  Ref<Parameters> whole = fresh(), half = fresh(), other = fresh();
  Optimizer a(whole, 0.1, make_rule(AdamOptions{})), b(half, 0.1, make_rule(AdamOptions{}));
  train(1, 6, *whole, a);
  train(1, 3, *half, b);
  b.set_learning_rate(0.1);
  half->save(path("weights").c_str());
  b.save(path("state").c_str());
  Optimizer c(other, 0.7, make_rule(AdamOptions{}));
  other->load(path("weights").c_str());
  c.load(path("state").c_str());
  EXPECT_EQ(c.steps(), 3);
  EXPECT_EQ(c.learning_rate(), 0.1);
  train(4, 6, *other, c);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(to_doubles(other->entries()[i].binding->value()),
              to_doubles(whole->entries()[i].binding->value()));
  }

  Optimizer wrong_rule(other, 0.1, make_rule(AdamOptions{0.9, 0.999, 1e-8, 0, true}));
  EXPECT_EQ(error_of([&] { wrong_rule.load(path("state").c_str()); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { c.load(path("weights").c_str()); }).code(), Code::io);
  other->create("c", full({1}, 0, Dtype::float32, other->device), false);
  Error found = error_of([&] { c.load(path("state").c_str()); });
  EXPECT_EQ(found.code(), Code::io);
  EXPECT_TRUE(contains(found.what(), "mean.c")) << found.what();
  EXPECT_EQ(c.steps(), 6);
}

TEST_F(OptimizerTest, NoneIsMadeInsideATrace) {
  Ref<Parameters> parameters = make_parameters();
  Binding& a = parameters->create("a", full({2}, 1, Dtype::float32, parameters->device), false);
  a.set_gradient(full({2}, 1, Dtype::float32, parameters->device));
  auto train = [](void* given, const std::vector<Tensor>&) {
    auto* trained = static_cast<Ref<Parameters>*>(given);
    Optimizer(*trained, 0.5, make_rule(SgdOptions{0.9, 0, 0, false})).step();
    return std::vector<Tensor>();
  };
  Trace trace;
  Error found = error_of([&] { trace.call({}, {train, &parameters, 0}); });
  EXPECT_EQ(found.code(), Code::trace) << found.what();
  EXPECT_EQ(to_doubles(a.value()), Vector({1, 1}));
}

TEST_F(OptimizerTest, FailingStepChangesNothing) {
  Ref<Parameters> parameters = make_parameters();
  Device& reference = find_device("cpu:reference");
  Binding& a = parameters->create("a", full({2}, 1, Dtype::float32, parameters->device), false);
  Binding& b = parameters->create("b", full({2}, 1, Dtype::float32, reference), false);
  Optimizer optimizer(parameters, 0.5, make_rule(SgdOptions{0.9, 0, 0, false}));
  a.set_gradient(full({2}, 1, Dtype::float32, parameters->device));
  b.set_gradient(full({2}, 1, Dtype::float32, reference));
  Error found = error_of([&] { optimizer.step(); });
  EXPECT_EQ(found.code(), Code::device);
  EXPECT_TRUE(contains(found.what(), "\"b\"")) << found.what();
  EXPECT_EQ(to_doubles(a.value()), Vector({1, 1}));
  EXPECT_EQ(optimizer.steps(), 0);
}

}  // namespace
}  // namespace mt
