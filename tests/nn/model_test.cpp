// SPDX-License-Identifier: Apache-2.0
// Models that learn, through the C interface: called, replayed, and from files.
#include <cmath>

#include "nn/c_api.h"

namespace mt {
namespace {

class ModelTest : public NnApiTest {};

struct Network {
  mt_parameters* parameters = mt_parameters_new(MT_F32, NULL);
  mt_layer* first = mt_layer_linear(parameters, "first", 2, 8, true);
  mt_layer* second = mt_layer_linear(parameters, "second", 8, 1, true);
  ~Network() { mt_parameters_release(parameters); }

  mt_tensor* apply(mt_tensor* x) { return mt_apply(second, mt_tanh(mt_apply(first, x))); }
  // One step on the exclusive or of two bits.
  mt_tensor* step(mt_tensor* x, mt_tensor* y, mt_optimizer* optimizer) {
    mt_tensor* loss = mt_mean(mt_square(mt_sub(apply(x), y)), NULL, 0);
    mt_parameters_zero_grad(parameters);
    mt_backward(loss);
    mt_clip_grad_norm(parameters, 1);
    mt_optimizer_step(optimizer);
    return mt_detach(loss);
  }
};

struct Data {
  mt_tensor* x;
  mt_tensor* y;
  Data() {
    const float inputs[] = {0, 0, 0, 1, 1, 0, 1, 1}, outputs[] = {0, 1, 1, 0};
    x = mt_take(mt_from_data(inputs, MT_DIMS(4, 2), MT_F32, NULL));
    y = mt_take(mt_from_data(outputs, MT_DIMS(4, 1), MT_F32, NULL));
  }
  ~Data() {
    mt_release(x);
    mt_release(y);
  }
};

TEST_F(ModelTest, LearnsAndGoesOnFromFiles) {
  Data data;
  Network network;
  EXPECT_EQ(mt_parameters_count(network.parameters), 4u);
  EXPECT_STREQ(mt_parameters_name(network.parameters, 2), "second.weight");
  for (float w : floats(mt_parameters_get(network.parameters, "first.weight"))) {
    EXPECT_LE(std::abs(w), 1 / std::sqrt(2.f));
  }
  mt_optimizer* optimizer = mt_optimizer_adam(network.parameters, 0.05, NULL);
  double loss = 1;
  for (int i = 0; i < 300; ++i) {
    MT_SCOPE { loss = mt_item(network.step(data.x, data.y, optimizer)); }
  }
  EXPECT_LT(loss, 1e-2);
  EXPECT_EQ(mt_optimizer_steps(optimizer), 300);

  ASSERT_EQ(mt_parameters_save(network.parameters, path("weights").c_str()), MT_OK);
  ASSERT_EQ(mt_optimizer_save(optimizer, path("state").c_str()), MT_OK);
  Network copy;
  mt_optimizer* other = mt_optimizer_adam(copy.parameters, 1, NULL);
  mt_parameters_load(copy.parameters, path("weights").c_str());
  mt_optimizer_load(other, path("state").c_str());
  EXPECT_EQ(mt_optimizer_learning_rate(other), 0.05);
  MT_SCOPE {
    network.step(data.x, data.y, optimizer);
    copy.step(data.x, data.y, other);
    EXPECT_EQ(floats(mt_parameters_tensor(network.parameters, 0)),
              floats(mt_parameters_tensor(copy.parameters, 0)));
  }
  mt_optimizer_release(optimizer);
  mt_optimizer_release(other);
}

TEST_F(ModelTest, AReplayedStepIsTheSame) {
  Data data;
  Network called, replayed;
  MT_SCOPE {
    for (size_t i = 0; i < 4; ++i) {
      MT_NO_GRAD {
        mt_assign(mt_parameters_tensor(replayed.parameters, i),
                  mt_parameters_tensor(called.parameters, i));
      }
    }
  }
  struct Step {
    Network* network;
    mt_optimizer* optimizer;
  } step{&replayed, mt_optimizer_adamw(replayed.parameters, 0.05, NULL)};
  mt_optimizer* optimizer = mt_optimizer_adamw(called.parameters, 0.05, NULL);
  auto function = [](void* user, mt_tensor* const* inputs, size_t, mt_tensor** results,
                     size_t) -> mt_status {
    auto* self = static_cast<Step*>(user);
    results[0] = self->network->step(inputs[0], inputs[1], self->optimizer);
    return mt_error();
  };
  mt_trace* trace = mt_trace_new(function, &step);
  for (int i = 0; i < 20; ++i) {
    if (i == 10) {  // followed by the trace, too
      mt_optimizer_set_learning_rate(optimizer, 0.01);
      mt_optimizer_set_learning_rate(step.optimizer, 0.01);
    }
    MT_SCOPE {
      double loss = mt_item(called.step(data.x, data.y, optimizer));
      mt_tensor* inputs[] = {data.x, data.y};
      mt_tensor* result = NULL;
      ASSERT_EQ(mt_trace_call(trace, inputs, 2, &result, 1), MT_OK) << mt_error_message();
      EXPECT_EQ(mt_item(result), loss) << i;
    }
  }
  EXPECT_LE(mt_trace_count(trace), 2u);  // gradients exist from the second call on
  EXPECT_EQ(mt_optimizer_steps(step.optimizer), 20);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(floats(mt_parameters_tensor(called.parameters, i)),
              floats(mt_parameters_tensor(replayed.parameters, i)));
  }
  mt_trace_release(trace);
  mt_optimizer_release(optimizer);
  mt_optimizer_release(step.optimizer);
}

TEST_F(ModelTest, NothingChangesWhileAnErrorIsPending) {
  mt_parameters* parameters = mt_parameters_new(MT_F32, NULL);
  mt_layer_linear(parameters, "l", 2, 2, true);
  mt_optimizer* optimizer = mt_optimizer_sgd(parameters, 0.1, NULL);
  mt_set_error(MT_EUSER, "mine");
  EXPECT_EQ(mt_optimizer_step(optimizer), MT_EUSER);
  EXPECT_EQ(mt_parameters_save(parameters, path("x").c_str()), MT_EUSER);
  EXPECT_EQ(mt_optimizer_set_learning_rate(optimizer, 1), MT_EUSER);
  EXPECT_EQ(mt_clip_grad_norm(parameters, 1), nullptr);
  expect_error(MT_EUSER, "mine");
  EXPECT_EQ(mt_optimizer_learning_rate(optimizer), 0.1);
  EXPECT_TRUE(files().empty());
  mt_parameters_release(parameters);  // the optimizer keeps the collection
  EXPECT_EQ(mt_optimizer_step(optimizer), MT_OK);
  mt_optimizer_release(optimizer);
}

TEST_F(ModelTest, Files) {
  MT_SCOPE {
    mt_tensor* x = mt_arange(0, 6, 1, MT_F32, NULL);
    ASSERT_EQ(mt_save_npy(x, path("x.npy").c_str()), MT_OK);
    EXPECT_EQ(floats(mt_load_npy(path("x.npy").c_str(), NULL)), floats(x));
    mt_parameters* saved = mt_parameters_new(MT_F32, NULL);
    mt_parameters_add_buffer(saved, "x", x);
    ASSERT_EQ(mt_save_npz(saved, path("x.npz").c_str(), true), MT_OK);
    ASSERT_EQ(mt_parameters_save(saved, path("x.safetensors").c_str()), MT_OK);
    for (mt_parameters* loaded : {mt_load_npz(path("x.npz").c_str(), NULL),
                                  mt_load_safetensors(path("x.safetensors").c_str(), NULL)}) {
      ASSERT_NE(loaded, nullptr);
      EXPECT_TRUE(mt_parameters_is_buffer(loaded, 0));
      EXPECT_EQ(floats(mt_parameters_get(loaded, "x")), floats(x));
      mt_parameters_release(loaded);
    }
    mt_parameters_release(saved);
    mt_tensor* shared = mt_from_dlpack(mt_to_dlpack(x, 0));
    EXPECT_EQ(mt_map(shared), mt_map(x));
    mt_unmap(shared);
    mt_unmap(x);
    EXPECT_EQ(floats(mt_from_dlpack_unversioned(mt_to_dlpack_unversioned(x))), floats(x));
    EXPECT_EQ(mt_load_npy(path("none").c_str(), NULL), nullptr);
    expect_error(MT_EIO, "none");
    EXPECT_EQ(mt_load_idx(path("x.npy").c_str(), NULL), nullptr);
    expect_error(MT_EIO, "not an IDX file");
  }
}

}  // namespace
}  // namespace mt
