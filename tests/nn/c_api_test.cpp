// SPDX-License-Identifier: Apache-2.0
// Models, optimizers and files as a program in C uses them.
#include <mtorch/mtorch.h>

#include <cmath>

#include "io/support.h"

namespace mt {
namespace {

class ModelTest : public FileTest {
 protected:
  ModelTest() { mt_clear(); }
  ~ModelTest() override { EXPECT_EQ(mt_error(), MT_OK) << mt_error_message(); }

  void expect_error(mt_status code, const char* part) {
    EXPECT_EQ(mt_error(), code) << mt_error_message();
    EXPECT_TRUE(contains(mt_error_message(), part)) << mt_error_message();
    mt_clear();
  }
  static std::vector<float> floats(mt_tensor* tensor) {
    std::vector<float> values(static_cast<size_t>(mt_size(tensor)));
    mt_copy_to_host(tensor, values.data(), values.size() * sizeof(float));
    return values;
  }
};

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

// Two causal blocks that continue a sequence from what they kept.
struct Writer {
  mt_parameters* parameters = mt_parameters_new(MT_F32, NULL);
  mt_layer* blocks[2];
  mt_tensor* kept[2];
  Writer() {
    mt_transformer_options how = MT_TRANSFORMER_OPTIONS_INIT;
    how.causal = true;
    for (int i = 0; i < 2; ++i) {
      blocks[i] = mt_layer_transformer(parameters, i ? "second" : "first", 8, 2, &how);
      kept[i] = mt_take(mt_kept_zeros(blocks[i], MT_DIMS(2), 6));
    }
  }
  ~Writer() {
    mt_release(kept[0]);
    mt_release(kept[1]);
    mt_parameters_release(parameters);
  }
  mt_tensor* all(mt_tensor* x) { return mt_apply(blocks[1], mt_apply(blocks[0], x)); }
  mt_tensor* next(mt_tensor* x, mt_tensor* places) {
    for (int i = 0; i < 2; ++i) x = mt_apply_kept(blocks[i], x, kept[i], places);
    return x;
  }
  static mt_status step(void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
    results[0] = static_cast<Writer*>(user)->next(inputs[0], inputs[1]);
    return mt_error();
  }
};

TEST_F(ModelTest, ContinuesInATraceAsWhenCalled) {
  Writer called, replayed;
  mt_trace* trace = mt_trace_new(Writer::step, &replayed);
  MT_NO_GRAD MT_SCOPE {
    for (size_t i = 0; i < mt_parameters_count(called.parameters); ++i) {
      mt_assign(mt_parameters_tensor(replayed.parameters, i),
                mt_parameters_tensor(called.parameters, i));
    }
    mt_tensor* x = mt_normal(MT_DIMS(2, 6, 8), 0, 1, MT_F32, NULL);
    mt_tensor* all = called.all(x);
    auto call = [&](int64_t from, int64_t to) {
      mt_tensor* inputs[] = {mt_slice(x, 1, from, to, 1),
                             mt_arange(double(from), double(to), 1, MT_I64, NULL)};
      mt_tensor* result = NULL;
      mt_trace_call(trace, inputs, 2, &result, 1);
      return result;
    };
    for (auto [from, to] : {std::pair<int64_t, int64_t>{0, 3}, {3, 4}, {4, 5}, {5, 6}}) {
      mt_tensor* places = mt_arange(double(from), double(to), 1, MT_I64, NULL);
      std::vector<float> now = floats(called.next(mt_slice(x, 1, from, to, 1), places));
      EXPECT_EQ(floats(call(from, to)), now);
      std::vector<float> expected = floats(mt_slice(all, 1, from, to, 1));
      for (size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(now[i], expected[i], 1e-5f);
    }
    EXPECT_EQ(mt_trace_count(trace), 2u);  // of three and of one
    // The context is full: a replay says so too, and nothing changes.
    std::vector<float> before = floats(replayed.kept[0]);
    x = mt_normal(MT_DIMS(2, 7, 8), 0, 1, MT_F32, NULL);
    EXPECT_EQ(call(6, 7), nullptr);
    expect_error(MT_EINDEX, "index 6");
    EXPECT_EQ(floats(replayed.kept[0]), before);
    EXPECT_NE(call(0, 1), nullptr);
    EXPECT_NE(floats(replayed.kept[0]), before);
  }
  mt_trace_release(trace);
}

TEST_F(ModelTest, GradientsReachWhatWasKept) {
  Writer writer;
  MT_SCOPE {
    mt_tensor* x = mt_normal(MT_DIMS(2, 5, 8), 0, 1, MT_F32, NULL);
    mt_tensor* weight = mt_parameters_get(writer.parameters, "first.self_attn.in_proj_weight");
    mt_tensor* wanted = NULL;
    mt_tensor* loss = mt_sum(mt_square(mt_slice(writer.all(x), 1, 3, 5, 1)), NULL, 0);
    mt_grad(&loss, 1, &weight, 1, NULL, &wanted);
    writer.next(mt_slice(x, 1, 0, 3, 1), mt_arange(0, 3, 1, MT_I64, NULL));
    EXPECT_TRUE(mt_requires_grad(writer.kept[0]));
    mt_tensor* y = writer.next(mt_slice(x, 1, 3, 5, 1), mt_arange(3, 5, 1, MT_I64, NULL));
    loss = mt_sum(mt_square(y), NULL, 0);
    mt_tensor* found = NULL;
    mt_grad(&loss, 1, &weight, 1, NULL, &found);
    std::vector<float> ours = floats(found), theirs = floats(wanted);
    for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-4f) << i;
    // Nothing is kept by a call that fails, nor by one while an error is pending.
    mt_tensor* leaf = mt_require_grad(mt_kept_zeros(writer.blocks[0], MT_DIMS(2), 5));
    mt_tensor* places = mt_arange(0, 5, 1, MT_I64, NULL);
    EXPECT_EQ(mt_apply_kept(writer.blocks[0], x, leaf, places), nullptr);
    expect_error(MT_EINVAL, "history");
    EXPECT_EQ(mt_apply_kept(writer.blocks[0], x, NULL, places), nullptr);
    expect_error(MT_ENULL, "NULL");
    std::vector<float> before = floats(writer.kept[0]);
    mt_set_error(MT_EUSER, "mine");
    EXPECT_EQ(mt_apply_kept(writer.blocks[0], x, writer.kept[0], places), nullptr);
    expect_error(MT_EUSER, "mine");
    EXPECT_EQ(floats(writer.kept[0]), before);
  }
}

TEST_F(ModelTest, CollectionsRefuseWhatIsWrong) {
  mt_parameters* parameters = mt_parameters_new(MT_F32, "cpu");
  mt_tensor* x = mt_zeros(MT_DIMS(2), MT_F32, NULL);
  mt_tensor* i = mt_zeros(MT_DIMS(2), MT_I32, NULL);
  EXPECT_EQ(mt_parameters_add(parameters, "x", x), MT_OK);
  EXPECT_EQ(mt_parameters_get(parameters, "x"), x);
  EXPECT_TRUE(mt_requires_grad(x));
  EXPECT_EQ(mt_parameters_add_buffer(parameters, "i", i), MT_OK);
  EXPECT_TRUE(mt_parameters_is_buffer(parameters, 1));
  EXPECT_FALSE(mt_parameters_has(parameters, "y"));
  mt_parameters_add(parameters, "x", x);
  expect_error(MT_EINVAL, "\"x\" is taken");
  mt_parameters_add(parameters, "", x);
  expect_error(MT_EINVAL, "empty");
  mt_parameters_add(parameters, "j", i);
  expect_error(MT_EDTYPE, "int32");
  mt_parameters_add(parameters, "y", NULL);
  expect_error(MT_ENULL, "NULL");
  EXPECT_EQ(mt_parameters_tensor(parameters, 2), nullptr);
  expect_error(MT_EINDEX, "tensor 2 of 2");
  EXPECT_EQ(mt_parameters_get(parameters, "y"), nullptr);
  expect_error(MT_EINVAL, "\"y\"");
  EXPECT_EQ(mt_parameters_new(MT_I32, NULL), nullptr);
  expect_error(MT_EDTYPE, "int32");
  // A layer adds all of its tensors or none.
  mt_parameters_add_buffer(parameters, "layer.bias", i);
  EXPECT_EQ(mt_layer_linear(parameters, "layer", 2, 2, true), nullptr);
  expect_error(MT_EINVAL, "layer.bias");
  EXPECT_EQ(mt_parameters_count(parameters), 3u);
  EXPECT_EQ(mt_layer_linear(parameters, "l", 0, 2, true), nullptr);
  expect_error(MT_EINVAL, "in_features");
  mt_parameters_release(parameters);
  EXPECT_EQ(mt_dim(x, 0), 2);  // its handles live on
  mt_release(x);
  mt_release(i);
}

TEST_F(ModelTest, ACollectionIsConvertedInPlace) {
  mt_parameters* parameters = mt_parameters_new(MT_F32, NULL);
  mt_layer* layer = mt_layer_linear(parameters, "l", 2, 2, true);
  mt_tensor* w = mt_parameters_get(parameters, "l.weight");
  std::vector<float> before = floats(w);
  MT_SCOPE {
    mt_parameters_add_buffer(parameters, "count", mt_ones(MT_DIMS(1), MT_I64, NULL));
    mt_parameters_to(parameters, MT_F64, NULL);
    EXPECT_EQ(mt_parameters_get(parameters, "l.weight"), w);
    EXPECT_EQ(mt_dtype_of(w), MT_F64);
    EXPECT_TRUE(mt_requires_grad(w) && mt_is_leaf(w));
    EXPECT_EQ(mt_dtype_of(mt_parameters_get(parameters, "count")), MT_I64);
    mt_tensor* y = mt_apply(layer, mt_ones(MT_DIMS(1, 2), MT_F64, NULL));
    mt_backward(mt_sum(y, NULL, 0));
    EXPECT_EQ(mt_dtype_of(mt_gradient(w)), MT_F64);
    mt_parameters_to(parameters, MT_F32, "cpu:reference");
    EXPECT_EQ(mt_dtype_of(mt_gradient(w)), MT_F32);
    EXPECT_STREQ(mt_device_of(mt_gradient(w)), "cpu:reference");
    EXPECT_EQ(floats(w), before);
    mt_parameters_to(parameters, 0, "cpu");
    EXPECT_STREQ(mt_device_of(w), "cpu");

    mt_parameters_to(parameters, MT_I32, NULL);
    expect_error(MT_EDTYPE, "int32");
    mt_parameters_to(parameters, MT_F64, "nowhere");
    expect_error(MT_EDEVICE, "nowhere");
    mt_parameters_to(NULL, MT_F64, NULL);
    expect_error(MT_ENULL, "NULL");
    auto traced = [](void* user, mt_tensor* const* in, size_t, mt_tensor** out, size_t) {
      mt_parameters_to(static_cast<mt_parameters*>(user), MT_F64, NULL);
      out[0] = mt_exp(in[0]);
      return mt_error();
    };
    mt_trace* trace = mt_trace_new(traced, parameters);
    mt_tensor* result = NULL;
    mt_trace_call(trace, &y, 1, &result, 1);
    expect_error(MT_ETRACE, "inside a trace");
    mt_trace_release(trace);
    EXPECT_EQ(mt_dtype_of(w), MT_F32);
  }
  mt_parameters_release(parameters);
}

TEST_F(ModelTest, LayersShareAWeight) {
  mt_seed(5);
  mt_parameters* parameters = mt_parameters_new(MT_F64, NULL);
  mt_layer* words = mt_layer_embedding(parameters, "words", 5, 3);
  mt_layer* head = mt_layer_linear(parameters, "head", 3, 5, false);
  mt_optimizer* optimizer = mt_optimizer_sgd(parameters, 0.1, NULL);
  mt_tensor* table = mt_parameters_get(parameters, "words.weight");
  MT_SCOPE {
    mt_tensor* x = mt_arange(0, 5, 1, MT_I64, NULL);
    auto step = [&] {
      mt_parameters_zero_grad(parameters);
      mt_backward(mt_sum(mt_square(mt_apply(head, mt_apply(words, x))), NULL, 0));
      mt_optimizer_step(optimizer);
    };
    step();  // which leaves a replay of two weights
    EXPECT_EQ(mt_parameters_share(parameters, "head.weight", table), MT_OK);
    EXPECT_EQ(mt_parameters_get(parameters, "head.weight"), table);
    for (int i = 0; i < 2; ++i) {
      // The gradient of sum((w w^T)^2) is 4 w w^T w.
      mt_tensor* w = mt_take(mt_copy(mt_detach(table)));
      mt_tensor* expected =
          mt_mul(mt_matmul(mt_matmul(w, mt_matrix_transpose(w)), w), mt_number(4));
      step();
      EXPECT_LT(mt_item(mt_max(mt_abs(mt_sub(mt_gradient(table), expected)), NULL, 0)), 1e-12);
      expected = mt_sub(w, mt_mul(expected, mt_number(0.1)));
      EXPECT_LT(mt_item(mt_max(mt_abs(mt_sub(mt_detach(table), expected)), NULL, 0)), 1e-12);
      mt_release(w);
    }
    double norm = mt_item(mt_sqrt(mt_sum(mt_square(mt_gradient(table)), NULL, 0)));
    EXPECT_NEAR(mt_item(mt_clip_grad_norm(parameters, 1e9)), norm, 1e-12);
    mt_parameters_share(parameters, "head.weight", mt_ones(MT_DIMS(3, 5), MT_F64, NULL));
    expect_error(MT_ESHAPE, "[3,5]");
    mt_parameters_share(parameters, "tail.weight", table);
    expect_error(MT_EINVAL, "tail.weight");
    mt_parameters_share(parameters, "head.weight", NULL);
    expect_error(MT_ENULL, "NULL");
  }
  mt_optimizer_release(optimizer);
  mt_parameters_release(parameters);
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
