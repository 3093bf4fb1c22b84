// SPDX-License-Identifier: Apache-2.0
// What an optimizer keeps, as a program in C reads and sets it.
#include <cmath>
#include <functional>
#include <map>

#include "nn/c_api.h"
#include "nn/ways.h"

namespace mt {
namespace {

using MakeOptimizer = std::function<mt_optimizer*(mt_parameters*, double rate)>;

const std::map<std::string, MakeOptimizer> optimizers = {
    {"sgd", [](mt_parameters* p, double rate) { return mt_optimizer_sgd(p, rate, nullptr); }},
    {"momentum",
     [](mt_parameters* p, double rate) {
       mt_sgd_options o{sizeof o, 0.9, 0.3, 0.01, false};
       return mt_optimizer_sgd(p, rate, &o);
     }},
    {"nesterov",
     [](mt_parameters* p, double rate) {
       mt_sgd_options o{sizeof o, 0.9, 0, 0, true};
       return mt_optimizer_sgd(p, rate, &o);
     }},
    {"adam", [](mt_parameters* p, double rate) { return mt_optimizer_adam(p, rate, nullptr); }},
    {"adamw", [](mt_parameters* p, double rate) { return mt_optimizer_adamw(p, rate, nullptr); }},
    {"rmsprop",
     [](mt_parameters* p, double rate) { return mt_optimizer_rmsprop(p, rate, nullptr); }},
    {"rmsprop with momentum",
     [](mt_parameters* p, double rate) {
       mt_rmsprop_options o{sizeof o, 0.9, 1e-8, 0.5, 0};
       return mt_optimizer_rmsprop(p, rate, &o);
     }},
    {"adagrad",
     [](mt_parameters* p, double rate) {
       mt_adagrad_options o{sizeof o, 1e-10, 0.1, 0};
       return mt_optimizer_adagrad(p, rate, &o);
     }},
};

// A network whose parameters have two types, and its optimizer.
struct Training {
  Training(const MakeOptimizer& make, double rate) : parameters(mt_parameters_new(MT_F32, NULL)) {
    mt_seed(3);
    mt_layer_linear(parameters, "hidden", 3, 5, true);
    mt_layer_linear(parameters, "output", 5, 2, false);
    MT_SCOPE { mt_parameters_add(parameters, "scale", mt_ones(MT_DIMS(2), MT_BF16, NULL)); }
    optimizer = make(parameters, rate);
  }
  ~Training() {
    mt_optimizer_release(optimizer);
    mt_parameters_release(parameters);
  }
  Training(const Training&) = delete;

  mt_tensor* get(const char* name) const { return mt_parameters_get(parameters, name); }
  mt_tensor* step(mt_tensor* x) const {
    mt_tensor* h = mt_tanh(mt_linear(x, get("hidden.weight"), get("hidden.bias")));
    mt_tensor* y = mt_mul(mt_linear(h, get("output.weight"), NULL), get("scale"));
    mt_tensor* loss = mt_mean(mt_square(y), NULL, 0);
    mt_parameters_zero_grad(parameters);
    mt_backward(loss);
    mt_optimizer_step(optimizer);
    return mt_detach(loss);
  }
  mt_tensor* prepare(int t) const {
    mt_tensor* x = mt_reshape(mt_sin(mt_arange(t, t + 12, 1, MT_F32, NULL)), MT_DIMS(4, 3));
    mt_tensor* w = get("hidden.weight");
    return mt_to_device(mt_astype(x, mt_dtype_of(w)), mt_device_of(w));
  }
  void run(int from, int to, Way way) { run_steps(this, from, to, way); }
  // All that lasts: parameters, then state.
  std::vector<Bits> bits() const {
    std::vector<Bits> all;
    mt_parameters* state = mt_optimizer_state(optimizer);
    for (mt_parameters* tensors : {parameters, state}) append_bits(tensors, &all);
    mt_parameters_release(state);
    return all;
  }

  mt_parameters* parameters;
  mt_optimizer* optimizer;
};

class OptimizerStateTest : public NnApiTest {};

TEST_F(OptimizerStateTest, TrainingGoesOnBitForBit) {
  constexpr int half = 4;
  for (const auto& [name, make] : optimizers) {
    for (Way way : {Way::deferred, Way::eager, Way::traced}) {
      SCOPED_TRACE(name + std::to_string(static_cast<int>(way)));
      Training whole(make, 0.05);
      whole.run(0, 2 * half, way);
      {
        Training first(make, 0.05);
        first.run(0, half, way);
        mt_parameters* state = mt_optimizer_state(first.optimizer);
        std::vector<Bits> before = first.bits();
        first.run(half, half + 1, way);  // which leaves what was read as it was
        ASSERT_EQ(mt_save_npz(state, path("state").c_str(), true), MT_OK) << mt_error_message();
        mt_optimizer_set_state(first.optimizer, state);
        EXPECT_EQ(mt_optimizer_steps(first.optimizer), half);
        std::vector<Bits> after = first.bits();
        size_t count = mt_parameters_count(first.parameters);
        EXPECT_NE(before[0], after[0]);
        for (size_t i = count; i < before.size(); ++i) EXPECT_EQ(before[i], after[i]) << i;
        mt_parameters_release(state);
      }
      Training first(make, 0.05), second(make, 0.9);
      first.run(0, half, way);
      mt_parameters_save(first.parameters, path("weights").c_str());
      mt_parameters_load(second.parameters, path("weights").c_str());
      second.run(0, 1, way);  // and so has state of its own, which goes
      mt_parameters_load(second.parameters, path("weights").c_str());
      mt_parameters* state = mt_load_npz(path("state").c_str(), "cpu:reference");
      ASSERT_EQ(mt_optimizer_set_state(second.optimizer, state), MT_OK) << mt_error_message();
      mt_parameters_release(state);
      EXPECT_EQ(mt_optimizer_learning_rate(second.optimizer), 0.05);
      second.run(half, 2 * half, way);
      EXPECT_EQ(second.bits(), whole.bits());
    }
  }
}

// What a trace that has been recorded already reads is the state that was set.
TEST_F(OptimizerStateTest, ATracedStepGoesOnFromIt) {
  Training called(optimizers.at("adam"), 0.05), replayed(optimizers.at("adam"), 0.05);
  struct Step {
    Training* training;
    static mt_status run(void* user, mt_tensor* const* in, size_t, mt_tensor** out, size_t) {
      out[0] = static_cast<Step*>(user)->training->step(in[0]);
      return mt_error();
    }
  } step{&replayed};
  mt_trace* trace = mt_trace_new(Step::run, &step);
  mt_parameters* state = mt_optimizer_state(called.optimizer);
  for (int t = 0; t < 9; ++t) MT_SCOPE {
      mt_tensor* x = mt_full(MT_DIMS(4, 3), 0.1 * t, MT_F32, NULL);
      mt_tensor* result = NULL;
      if (t % 3 == 2) {
        mt_optimizer_set_state(called.optimizer, state);
        mt_optimizer_set_state(replayed.optimizer, state);
      }
      called.step(x);
      ASSERT_EQ(mt_trace_call(trace, &x, 1, &result, 1), MT_OK) << mt_error_message();
      EXPECT_EQ(called.bits(), replayed.bits()) << t;
    }
  EXPECT_EQ(mt_optimizer_steps(replayed.optimizer), 1);
  mt_parameters_release(state);
  mt_trace_release(trace);
}

// Between two steps parameters become another type and move; what is kept goes with them.
TEST_F(OptimizerStateTest, FollowsItsParameters) {
  for (const auto& [name, make] : optimizers) {
    for (Way way : {Way::deferred, Way::eager, Way::traced}) {
      SCOPED_TRACE(name + std::to_string(static_cast<int>(way)));
      Training training(make, 0.05), wide(make, 0.05);
      auto near = [&] {
        MT_SCOPE {
          for (const char* which : {"hidden.weight", "hidden.bias", "output.weight"}) {
            mt_tensor* a = mt_astype(training.get(which), MT_F64);
            mt_tensor* b = mt_astype(mt_to_device(wide.get(which), NULL), MT_F64);
            mt_tensor* apart = mt_max(mt_abs(mt_sub(mt_to_device(a, NULL), b)), NULL, 0);
            EXPECT_LT(mt_item(apart), 1e-3) << which;
          }
        }
      };
      training.run(0, 3, way);
      wide.run(0, 3, way);
      ASSERT_EQ(mt_parameters_to(wide.parameters, MT_F64, "cpu:reference"), MT_OK);
      MT_SCOPE { EXPECT_EQ(mt_dtype_of(mt_gradient(wide.get("hidden.bias"))), MT_F64); }
      mt_parameters* state = mt_optimizer_state(wide.optimizer);
      for (size_t i = 2; i < mt_parameters_count(state); ++i) {
        EXPECT_EQ(mt_dtype_of(mt_parameters_tensor(state, i)), MT_F64);
        EXPECT_STREQ(mt_device_of(mt_parameters_tensor(state, i)), "cpu:reference");
      }
      mt_parameters_release(state);
      training.run(3, 5, way);
      wide.run(3, 5, way);
      EXPECT_EQ(mt_dtype_of(wide.get("scale")), MT_F64);
      near();
      mt_parameters_to(wide.parameters, MT_F32, "cpu");
      training.run(5, 7, way);
      wide.run(5, 7, way);
      EXPECT_EQ(mt_dtype_of(wide.get("hidden.weight")), MT_F32);
      near();
      EXPECT_EQ(mt_optimizer_steps(wide.optimizer), 7);
      mt_optimizer_set_learning_rate(wide.optimizer, 0.5);
      EXPECT_EQ(mt_optimizer_learning_rate(wide.optimizer), 0.5);
      mt_layer_linear(wide.parameters, "more", 1, 1, true);
      EXPECT_EQ(mt_dtype_of(wide.get("more.weight")), MT_F32);
    }
  }
}

// One trace, recorded before, is called after.
TEST_F(OptimizerStateTest, ATracedStepFollowsItsParameters) {
  Training training(optimizers.at("adam"), 0.05);
  auto step = [](void* user, mt_tensor* const* in, size_t, mt_tensor** out, size_t) {
    auto* self = static_cast<Training*>(user);
    out[0] = self->step(mt_astype(in[0], mt_dtype_of(self->get("scale"))));
    return mt_error();
  };
  mt_trace* trace = mt_trace_new(step, &training);
  MT_SCOPE {
    mt_tensor* x = mt_ones(MT_DIMS(4, 3), MT_F32, NULL);
    mt_tensor* result = NULL;
    for (mt_dtype type : {MT_F32, MT_F64, MT_F16, MT_BF16, MT_F64}) {
      mt_parameters_to(training.parameters, type, NULL);
      for (int i = 0; i < 3; ++i) mt_trace_call(trace, &x, 1, &result, 1);
      ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
      EXPECT_EQ(mt_dtype_of(training.get("hidden.weight")), type);
      EXPECT_EQ(mt_dtype_of(result), type);
    }
    EXPECT_EQ(mt_optimizer_steps(training.optimizer), 15);
  }
  mt_trace_release(trace);
}

TEST_F(OptimizerStateTest, IsNamedAsItIsDocumented) {
  Training training(optimizers.at("rmsprop with momentum"), 0.25);
  mt_parameters* state = mt_optimizer_state(training.optimizer);
  std::vector<std::string> names;
  for (size_t i = 0; i < mt_parameters_count(state); ++i) {
    names.push_back(mt_parameters_name(state, i));
    EXPECT_TRUE(mt_parameters_is_buffer(state, i));
  }
  EXPECT_EQ(names, std::vector<std::string>(
                       {"step", "learning_rate", "square.hidden.weight", "velocity.hidden.weight",
                        "square.hidden.bias", "velocity.hidden.bias", "square.output.weight",
                        "velocity.output.weight", "square.scale", "velocity.scale"}));
  EXPECT_EQ(mt_item(mt_parameters_get(state, "learning_rate")), 0.25);
  EXPECT_EQ(mt_dtype_of(mt_parameters_get(state, "velocity.scale")), MT_F32);
  mt_parameters_release(state);
}

TEST_F(OptimizerStateTest, WhatDoesNotFitChangesNothing) {
  Training training(optimizers.at("momentum"), 0.5);
  training.run(0, 2, Way::deferred);
  std::vector<Bits> before = training.bits();
  auto expect_refused = [&](mt_status code, const char* part, const char* name, mt_tensor* value) {
    mt_parameters* own = mt_optimizer_state(training.optimizer);
    mt_parameters* state = mt_parameters_new(MT_F32, NULL);
    for (size_t i = 0; i < mt_parameters_count(own); ++i) {
      std::string known = mt_parameters_name(own, i);
      mt_tensor* given = known == name ? value : mt_zeros_like(mt_parameters_tensor(own, i));
      if (given) mt_parameters_add_buffer(state, known.c_str(), given);
    }
    if (!mt_parameters_has(own, name)) mt_parameters_add_buffer(state, name, value);
    ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
    EXPECT_EQ(mt_optimizer_set_state(training.optimizer, state), code);
    expect_error(code, part);
    EXPECT_EQ(training.bits(), before);
    mt_parameters_release(own);
    mt_parameters_release(state);
  };
  MT_SCOPE {
    mt_tensor* x = mt_ones(MT_DIMS(5), MT_F32, NULL);
    expect_refused(MT_EINVAL, "has no \"velocity.hidden.bias\"", "velocity.hidden.bias", NULL);
    expect_refused(MT_EINVAL, "has no \"step\"", "step", NULL);
    expect_refused(MT_EINVAL, "holds \"mean.hidden.bias\"", "mean.hidden.bias", x);
    expect_refused(MT_ESHAPE, "[5]", "velocity.scale", x);
    expect_refused(MT_EDTYPE, "float64", "velocity.hidden.bias", mt_astype(x, MT_F64));
    expect_refused(MT_EDTYPE, "\"step\" is float32", "step", mt_full(NULL, 0, 3, MT_F32, NULL));
    for (double number : {-1.0, 0.5, double(NAN), double(INFINITY)}) {
      mt_tensor* wrong = mt_full(NULL, 0, number, MT_F64, NULL);
      expect_refused(MT_EINVAL, "steps", "step", wrong);
      if (number != 0.5) expect_refused(MT_EINVAL, "learning rate", "learning_rate", wrong);
    }
    mt_optimizer_set_state(training.optimizer, NULL);
    expect_error(MT_ENULL, "NULL");
    mt_parameters* own = mt_optimizer_state(training.optimizer);
    mt_set_error(MT_EUSER, "mine");
    EXPECT_EQ(mt_optimizer_set_state(training.optimizer, own), MT_EUSER);
    expect_error(MT_EUSER, "mine");
    mt_parameters_release(own);
  }
}

TEST_F(OptimizerStateTest, ATraceRefusesBoth) {
  Training training(optimizers.at("adam"), 0.5);
  training.run(0, 2, Way::deferred);
  std::vector<Bits> before = training.bits();
  struct Use {
    mt_optimizer* optimizer;
    mt_parameters* state;  // to be set; NULL: to be read
    static mt_status run(void* user, mt_tensor* const* in, size_t, mt_tensor** out, size_t) {
      auto* self = static_cast<Use*>(user);
      if (self->state) {
        mt_optimizer_set_state(self->optimizer, self->state);
      } else {
        mt_parameters_release(mt_optimizer_state(self->optimizer));
      }
      out[0] = mt_exp(in[0]);
      return mt_error();
    }
  };
  mt_parameters* state = mt_optimizer_state(training.optimizer);
  MT_SCOPE {
    mt_tensor* x = mt_ones(MT_DIMS(1), MT_F32, NULL);
    for (mt_parameters* given : {state, static_cast<mt_parameters*>(nullptr)}) {
      Use use{training.optimizer, given};
      mt_trace* trace = mt_trace_new(Use::run, &use);
      mt_tensor* result = NULL;
      EXPECT_EQ(mt_trace_call(trace, &x, 1, &result, 1), MT_ETRACE);
      expect_error(MT_ETRACE, "inside a trace");
      mt_trace_release(trace);
    }
  }
  EXPECT_EQ(training.bits(), before);
  mt_parameters_release(state);
}

}  // namespace
}  // namespace mt
