// SPDX-License-Identifier: Apache-2.0
// Collections of parameters, through the C interface.
#include "nn/c_api.h"

namespace mt {
namespace {

class CollectionsTest : public NnApiTest {};

TEST_F(CollectionsTest, CollectionsRefuseWhatIsWrong) {
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
  mt_parameters_add_buffer(parameters, "\xff", i);  // which could not be saved
  expect_error(MT_EINVAL, "parameters: the name or text \"\xff\" is not UTF-8");
  mt_parameters_add(parameters, "__metadata__", x);
  expect_error(MT_EINVAL, "a safetensors file has no tensor named __metadata__");
  EXPECT_EQ(mt_layer_linear(parameters, "\xff", 2, 2, true), nullptr);
  expect_error(MT_EINVAL, "is not UTF-8");
  mt_parameters_add(parameters, "y", NULL);
  expect_error(MT_ENULL, "NULL");
  EXPECT_EQ(mt_parameters_tensor(parameters, 2), nullptr);
  expect_error(MT_EINDEX, "tensor 2 of 2");
  EXPECT_EQ(mt_parameters_get(parameters, "y"), nullptr);
  expect_error(MT_EINVAL, "\"y\"");
  EXPECT_EQ(mt_parameters_new(MT_I32, NULL), nullptr);
  expect_error(MT_EDTYPE, "int32");
  // A layer adds all of its tensors or none, and draws all of its numbers or none.
  mt_parameters_add_buffer(parameters, "layer.bias", i);
  uint64_t key = 0, before = 0, after = 0;
  mt_generator_state(NULL, &key, &before);
  EXPECT_EQ(mt_layer_linear(parameters, "layer", 2, 2, true), nullptr);
  expect_error(MT_EINVAL, "layer.bias");
  mt_generator_state(NULL, &key, &after);
  EXPECT_EQ(before, after);
  EXPECT_EQ(mt_parameters_count(parameters), 3u);
  EXPECT_EQ(mt_layer_linear(parameters, "l", 0, 2, true), nullptr);
  expect_error(MT_EINVAL, "in_features");
  // Several times as many would not be a number.
  EXPECT_EQ(mt_layer_attention(parameters, "many", INT64_MAX, 1, nullptr), nullptr);
  expect_error(MT_EINVAL, "width");
  EXPECT_EQ(mt_layer_transformer(parameters, "many", INT64_MAX, 1, nullptr), nullptr);
  expect_error(MT_EINVAL, "width");
  EXPECT_EQ(mt_layer_gru(parameters, "many", 2, INT64_MAX, 1, true), nullptr);
  expect_error(MT_EINVAL, "hidden");
  // Nor has it drawn any where it fails when it is applied: here after the attention was dropped.
  mt_transformer_options how = MT_TRANSFORMER_OPTIONS_INIT;
  how.dropout = 0.5;
  how.activation = "a > 0";
  mt_layer* block = mt_layer_transformer(parameters, "block", 2, 1, &how);
  mt_generator_state(NULL, &key, &before);
  MT_SCOPE {
    mt_tensor* rows = mt_ones(MT_DIMS(3, 2), MT_F32, NULL);
    EXPECT_EQ(mt_apply(block, rows), nullptr);
    expect_error(MT_EDTYPE, "bool");
    EXPECT_EQ(mt_apply_attention(block, rows, NULL, NULL, NULL), nullptr);
    expect_error(MT_EDTYPE, "bool");
  }
  mt_generator_state(NULL, &key, &after);
  EXPECT_EQ(before, after);
  mt_parameters_release(parameters);
  EXPECT_EQ(mt_dim(x, 0), 2);  // its handles live on
  mt_release(x);
  mt_release(i);
}

TEST_F(CollectionsTest, ACollectionIsConvertedInPlace) {
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

TEST_F(CollectionsTest, ATraceFollowsTheMode) {
  struct Traced {
    mt_parameters* parameters;
    mt_layer* dropout;
    bool sets;  // the mode itself
  } traced{mt_parameters_new(MT_F32, NULL), NULL, false};
  traced.dropout = mt_layer_dropout(traced.parameters, 1.0);
  auto function = [](void* user, mt_tensor* const* in, size_t, mt_tensor** out, size_t) {
    const Traced& traced = *static_cast<Traced*>(user);
    if (traced.sets) mt_parameters_set_training(traced.parameters, false);
    out[0] = mt_apply(traced.dropout, in[0]);
    if (traced.sets) mt_parameters_set_training(traced.parameters, true);
    return mt_error();
  };
  for (bool sets : {false, true}) {
    traced.sets = sets;
    mt_trace* trace = mt_trace_new(function, &traced);
    for (bool training : {true, false, true, false}) {
      mt_parameters_set_training(traced.parameters, training);
      MT_SCOPE {
        mt_tensor *x = mt_ones(MT_DIMS(2), MT_F32, NULL), *y = NULL;
        ASSERT_EQ(mt_trace_call(trace, &x, 1, &y, 1), MT_OK) << mt_error_message();
        const float expected = training && !sets ? 0.0f : 1.0f;
        EXPECT_EQ(floats(y), (std::vector<float>{expected, expected}));
      }
    }
    EXPECT_EQ(mt_trace_count(trace), sets ? 1u : 2u);
    mt_trace_release(trace);
  }
  mt_parameters_release(traced.parameters);
}

TEST_F(CollectionsTest, LayersShareAWeight) {
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

}  // namespace
}  // namespace mt
