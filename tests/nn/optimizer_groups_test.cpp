// SPDX-License-Identifier: Apache-2.0
// Parameters with options and a learning rate of their own, as a program in C has them.
#include <cmath>
#include <set>

#include "nn/c_api.h"
#include "nn/ways.h"

namespace mt {
namespace {

mt_optimizer* adamw(mt_parameters* parameters, double rate, double decay) {
  mt_adam_options options = MT_ADAMW_OPTIONS_INIT;
  options.weight_decay = decay;
  return mt_optimizer_adamw(parameters, rate, &options);
}

// A network whose weights decay, and whose biases do not and learn at half the rate.
struct Training {
  explicit Training(double rate = 0.05, bool joined = true)
      : model(mt_parameters_new(MT_F32, NULL)),
        weights(mt_parameters_new(MT_F32, NULL)),
        biases(mt_parameters_new(MT_F32, NULL)),
        joined(joined) {
    mt_seed(3);
    mt_layer_linear(model, "hidden", 3, 5, true);
    mt_layer_linear(model, "output", 5, 2, true);
    for (size_t i = 0; i < mt_parameters_count(model); ++i) {
      mt_tensor* tensor = mt_parameters_tensor(model, i);
      mt_parameters_add(mt_ndim(tensor) > 1 ? weights : biases, mt_parameters_name(model, i),
                        tensor);
    }
    optimizer = adamw(weights, rate, 0.1);
    group = adamw(biases, rate / 2, 0);
    if (joined) mt_optimizer_add(optimizer, group);
  }
  ~Training() {
    mt_optimizer_release(optimizer);
    mt_optimizer_release(group);
    for (mt_parameters* parameters : {model, weights, biases}) mt_parameters_release(parameters);
  }
  Training(const Training&) = delete;

  mt_tensor* get(const char* name) const { return mt_parameters_get(model, name); }
  mt_tensor* loss(mt_tensor* x) const {
    mt_tensor* h = mt_tanh(mt_linear(x, get("hidden.weight"), get("hidden.bias")));
    mt_tensor* y = mt_linear(h, get("output.weight"), get("output.bias"));
    return mt_mean(mt_square(mt_add(y, mt_full(NULL, 0, 0.3, MT_F32, NULL))), NULL, 0);
  }
  mt_tensor* step(mt_tensor* x) const {
    mt_tensor* value = loss(x);
    mt_parameters_zero_grad(model);
    mt_backward(value);
    mt_optimizer_step(optimizer);
    if (!joined) mt_optimizer_step(group);
    return mt_detach(value);
  }
  static mt_tensor* input(int t) {
    return mt_reshape(mt_sin(mt_arange(t, t + 12, 1, MT_F32, NULL)), MT_DIMS(4, 3));
  }
  mt_tensor* prepare(int t) const {
    mt_optimizer_set_learning_rate(optimizer, 0.05 / (1 + t));
    if (!joined) mt_optimizer_set_learning_rate(group, 0.025 / (1 + t));
    return input(t);
  }
  void run(int from, int to, Way way) { run_steps(this, from, to, way); }
  // All that lasts: parameters, then state.
  std::vector<Bits> bits() const {
    std::vector<Bits> all;
    append_bits(model, &all);
    mt_parameters* state = mt_optimizer_state(optimizer);
    append_bits(state, &all);
    mt_parameters_release(state);
    return all;
  }
  std::vector<Bits> weight_bits() const {
    std::vector<Bits> all;
    append_bits(model, &all);
    return all;
  }

  mt_parameters *model, *weights, *biases;
  mt_optimizer *optimizer, *group;
  bool joined;
};

class OptimizerGroupsTest : public NnApiTest {};

TEST_F(OptimizerGroupsTest, OneStepIsThatOfEachAlone) {
  std::set<std::vector<Bits>> found;
  for (bool joined : {true, false}) {
    for (Way way : ways) {
      Training training(0.05, joined);
      training.run(0, 6, way);
      found.insert(training.weight_bits());
      EXPECT_EQ(mt_optimizer_steps(training.optimizer), 6);
      EXPECT_EQ(mt_optimizer_steps(training.group), 6);
    }
  }
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(OptimizerGroupsTest, OptionsAreTheGroupsOwn) {
  Training training(0.1);
  MT_SCOPE {
    mt_tensor* weight = mt_copy(training.get("output.weight"));
    mt_tensor* bias = mt_copy(training.get("output.bias"));
    for (const char* name : {"output.weight", "output.bias"}) {
      mt_set_gradient(training.get(name), mt_zeros_like(training.get(name)));
    }
    mt_optimizer_step(training.optimizer);
    // Without a gradient only decay is left: w = w - 0.1 * 0.1 w.
    mt_tensor* ratio = mt_div(training.get("output.weight"), weight);
    EXPECT_NEAR(mt_item(mt_min(ratio, NULL, 0)), 0.99, 1e-6);
    EXPECT_NEAR(mt_item(mt_max(ratio, NULL, 0)), 0.99, 1e-6);
    EXPECT_TRUE(mt_item(mt_all(mt_equal(training.get("output.bias"), bias), NULL, 0)) != 0);
  }
}

TEST_F(OptimizerGroupsTest, RatesKeepTheirProportion) {
  Training training(0.5);
  EXPECT_EQ(mt_optimizer_learning_rate(training.group), 0.25);
  mt_optimizer_set_learning_rate(training.optimizer, 0.125);
  EXPECT_EQ(mt_optimizer_learning_rate(training.optimizer), 0.125);
  EXPECT_EQ(mt_optimizer_learning_rate(training.group), 0.0625);
  mt_optimizer_set_learning_rate(training.optimizer, 0);
  EXPECT_EQ(mt_optimizer_learning_rate(training.group), 0);
  mt_optimizer_set_learning_rate(training.optimizer, 1);
  EXPECT_EQ(mt_optimizer_learning_rate(training.group), 0.5);
  // A rate that would be too large for a group is set for none.
  mt_parameters* more = mt_parameters_new(MT_F32, NULL);
  mt_optimizer* fast = mt_optimizer_sgd(more, 1e300, NULL);
  mt_optimizer_add(training.optimizer, fast);
  EXPECT_EQ(mt_optimizer_set_learning_rate(training.optimizer, 1e10), MT_EINVAL);
  expect_error(MT_EINVAL, "inf");
  EXPECT_EQ(mt_optimizer_learning_rate(training.optimizer), 1);
  EXPECT_EQ(mt_optimizer_learning_rate(fast), 1e300);
  mt_optimizer_release(fast);
  mt_parameters_release(more);
}

TEST_F(OptimizerGroupsTest, AddedLaterBeginsAtItsFirstStep) {
  for (Way way : ways) {
    Training training(0.05, false);
    mt_optimizer_step(training.optimizer);
    training.joined = true;  // the biases are left alone at first
    training.run(0, 2, way);
    ASSERT_EQ(mt_optimizer_add(training.optimizer, training.group), MT_OK);
    std::vector<Bits> before = training.weight_bits();
    training.run(2, 5, way);
    EXPECT_NE(training.weight_bits()[1], before[1]);
    EXPECT_EQ(mt_optimizer_steps(training.optimizer), 6);
    EXPECT_EQ(mt_optimizer_steps(training.group), 3);
  }
}

TEST_F(OptimizerGroupsTest, TrainingGoesOnFromStateAndFile) {
  for (Way way : ways) {
    Training whole, half;
    whole.run(0, 6, way);
    half.run(0, 3, way);
    mt_parameters* state = mt_optimizer_state(half.optimizer);
    std::vector<std::string> names;
    for (size_t i = 0; i < mt_parameters_count(state); ++i) {
      names.push_back(mt_parameters_name(state, i));
    }
    EXPECT_EQ(names, std::vector<std::string>(
                         {"step", "learning_rate", "step.1", "learning_rate.1", "proportion.1",
                          "mean.hidden.weight", "square.hidden.weight", "mean.output.weight",
                          "square.output.weight", "mean.hidden.bias", "square.hidden.bias",
                          "mean.output.bias", "square.output.bias"}));
    mt_parameters_save(half.model, path("weights").c_str());
    ASSERT_EQ(mt_optimizer_save(half.optimizer, path("state").c_str()), MT_OK);
    for (bool from_file : {false, true}) {
      Training other(0.9);
      other.run(0, 1, way);
      mt_parameters_load(other.model, path("weights").c_str());
      if (from_file) {
        mt_optimizer_load(other.optimizer, path("state").c_str());
      } else {
        mt_optimizer_set_state(other.optimizer, state);
      }
      ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
      EXPECT_EQ(other.bits(), half.bits());
      other.run(3, 6, way);
      EXPECT_EQ(other.bits(), whole.bits());
    }
    mt_parameters_release(state);
    Training apart(0.9, false);
    std::vector<Bits> before = apart.bits();
    EXPECT_EQ(mt_optimizer_load(apart.optimizer, path("state").c_str()), MT_EIO);
    expect_error(MT_EIO, "adamw+adamw");
    EXPECT_EQ(apart.bits(), before);
  }
}

TEST_F(OptimizerGroupsTest, ABadNumberOfAGroupChangesNothing) {
  Training training;
  training.run(0, 2, Way::deferred);
  std::vector<Bits> before = training.bits();
  for (const char* wrong : {"step.1", "learning_rate.1", "proportion.1"}) {
    mt_parameters* own = mt_optimizer_state(training.optimizer);
    mt_parameters* state = mt_parameters_new(MT_F32, NULL);
    MT_SCOPE {
      for (size_t i = 0; i < mt_parameters_count(own); ++i) {
        std::string name = mt_parameters_name(own, i);
        mt_tensor* value = mt_zeros_like(mt_parameters_tensor(own, i));
        if (name == wrong) value = mt_full(NULL, 0, -1, MT_F64, NULL);
        mt_parameters_add_buffer(state, name.c_str(), value);
      }
    }
    EXPECT_EQ(mt_optimizer_set_state(training.optimizer, state), MT_EINVAL);
    expect_error(MT_EINVAL, "-1");
    EXPECT_EQ(training.bits(), before);
    mt_parameters_release(own);
    mt_parameters_release(state);
  }
}

// Each group is where its parameters are.
TEST_F(OptimizerGroupsTest, TwoDevicesTrainTogether) {
  for (Way way : {Way::deferred, Way::eager}) {
    Training together, apart(0.05, false);
    mt_set_eager(way == Way::eager);
    for (Training* training : {&together, &apart}) {
      ASSERT_EQ(mt_parameters_to(training->biases, 0, "cpu:reference"), MT_OK);
      for (int t = 0; t < 4; ++t) MT_SCOPE {
          for (size_t i = 0; i < mt_parameters_count(training->model); ++i) {
            mt_tensor* w = mt_parameters_tensor(training->model, i);
            bool none = t < 2 && mt_ndim(w) == 1;  // at first none is on the second device
            if (!none) mt_set_gradient(w, mt_full_like(w, 0.1 * (1 + t)));
          }
          mt_optimizer_step(training->optimizer);
          if (!training->joined) mt_optimizer_step(training->group);
          ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
        }
    }
    mt_set_eager(false);
    EXPECT_EQ(together.weight_bits(), apart.weight_bits());
    EXPECT_STREQ(mt_device_of(together.get("output.bias")), "cpu:reference");
    mt_parameters* state = mt_optimizer_state(together.optimizer);
    EXPECT_STREQ(mt_device_of(mt_parameters_get(state, "step")), "cpu");
    EXPECT_STREQ(mt_device_of(mt_parameters_get(state, "step.1")), "cpu:reference");
    EXPECT_EQ(mt_optimizer_set_state(together.optimizer, state), MT_OK) << mt_error_message();
    mt_parameters_release(state);
  }
}

TEST_F(OptimizerGroupsTest, WhatCannotBeAGroupChangesNothing) {
  Training training;
  mt_optimizer* optimizer = training.optimizer;
  std::vector<Bits> before = training.bits();
  auto expect_refused = [&](mt_optimizer* to, mt_optimizer* group, mt_status code,
                            const char* part) {
    EXPECT_EQ(mt_optimizer_add(to, group), code);
    expect_error(code, part);
    EXPECT_EQ(training.bits(), before);
  };
  expect_refused(optimizer, optimizer, MT_EINVAL, "has that group");
  expect_refused(optimizer, training.group, MT_EINVAL, "has that group");
  expect_refused(training.group, optimizer, MT_EINVAL, "has that group");
  expect_refused(optimizer, NULL, MT_ENULL, "group");
  expect_refused(NULL, optimizer, MT_ENULL, "optimizer");

  mt_parameters* given = mt_parameters_new(MT_F32, NULL);
  mt_optimizer* other = mt_optimizer_sgd(given, 1, NULL);
  mt_set_error(MT_EUSER, "mine");
  expect_refused(optimizer, other, MT_EUSER, "mine");
  mt_parameters_add(given, "mine", training.get("hidden.bias"));
  expect_refused(optimizer, other, MT_EINVAL, "\"hidden.bias\" of one group is \"mine\"");
  mt_optimizer_release(other);
  mt_parameters_release(given);

  given = mt_parameters_new(MT_F32, NULL);
  other = mt_optimizer_sgd(given, 1, NULL);
  expect_refused(other, training.group, MT_EINVAL, "a group of another");
  mt_layer_linear(given, "hidden", 1, 1, true);
  expect_refused(optimizer, other, MT_EINVAL, "two groups have a parameter \"hidden.weight\"");
  expect_refused(training.group, other, MT_EINVAL, "two groups have a parameter");
  mt_optimizer_release(other);
  mt_parameters_release(given);

  // One that gets the parameter when it is a group already.
  given = mt_parameters_new(MT_F32, NULL);
  other = mt_optimizer_sgd(given, 1, NULL);
  ASSERT_EQ(mt_optimizer_add(optimizer, other), MT_OK) << mt_error_message();
  mt_parameters_add(given, "late", training.get("output.bias"));
  std::vector<Bits> weights = training.weight_bits();
  EXPECT_EQ(mt_optimizer_step(optimizer), MT_EINVAL);
  expect_error(MT_EINVAL, "\"output.bias\" of one group is \"late\"");
  EXPECT_EQ(training.weight_bits(), weights);
  EXPECT_EQ(mt_optimizer_state(optimizer), nullptr);
  expect_error(MT_EINVAL, "\"late\"");
  mt_optimizer_release(other);
  mt_parameters_release(given);
}

TEST_F(OptimizerGroupsTest, GroupsLiveAsLongAsTheirOptimizer) {
  mt_parameters* parameters = mt_parameters_new(MT_F32, NULL);
  mt_parameters* others = mt_parameters_new(MT_F32, NULL);
  mt_optimizer *optimizer = NULL, *group = NULL;
  MT_SCOPE {
    mt_parameters_add(parameters, "a", mt_ones(MT_DIMS(2), MT_F32, NULL));
    mt_parameters_add(others, "b", mt_ones(MT_DIMS(2), MT_F32, NULL));
  }
  mt_tensor* b = mt_retain(mt_parameters_get(others, "b"));
  optimizer = mt_optimizer_sgd(parameters, 1, NULL);
  group = mt_optimizer_sgd(others, 0.5, NULL);
  mt_optimizer_add(optimizer, group);
  mt_optimizer_release(group);
  mt_parameters_release(others);
  MT_SCOPE { mt_set_gradient(b, mt_ones_like(b)); }
  mt_optimizer_step(optimizer);
  MT_SCOPE { EXPECT_EQ(mt_item(mt_sum(b, NULL, 0)), 1); }
  mt_release(b);
  mt_optimizer_release(optimizer);
  mt_parameters_release(parameters);
}

TEST_F(OptimizerGroupsTest, ATraceRefusesANewGroup) {
  Training training(0.05, false);
  auto add = [](void* user, mt_tensor* const* in, size_t, mt_tensor** out, size_t) {
    auto* self = static_cast<Training*>(user);
    mt_optimizer_add(self->optimizer, self->group);
    out[0] = mt_exp(in[0]);
    return mt_error();
  };
  mt_trace* trace = mt_trace_new(add, &training);
  MT_SCOPE {
    mt_tensor *x = mt_ones(MT_DIMS(1), MT_F32, NULL), *result = NULL;
    EXPECT_EQ(mt_trace_call(trace, &x, 1, &result, 1), MT_ETRACE);
    expect_error(MT_ETRACE, "inside a trace");
  }
  EXPECT_EQ(mt_optimizer_add(training.optimizer, training.group), MT_OK);
  mt_trace_release(trace);
}

}  // namespace
}  // namespace mt
