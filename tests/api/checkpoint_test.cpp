// SPDX-License-Identifier: Apache-2.0
// Functions that are computed again for their gradient, and gradients held against differences.
#include "api/support.h"

namespace {

class Checkpoints : public Api {};

struct Layer {
  mt_tensor* weight;
  int calls = 0;
};

mt_status layer(void* user, mt_tensor* const* inputs, size_t, mt_tensor** results,
                size_t nresults) {
  Layer* self = static_cast<Layer*>(user);
  ++self->calls;
  mt_tensor* hidden = mt_tanh(mt_matmul(inputs[0], self->weight));
  results[0] = mt_sum(mt_square(hidden), MT_DIMS(1));
  if (nresults > 1) results[1] = mt_exp(mt_matrix_transpose(hidden));
  return MT_OK;
}

TEST_F(Checkpoints, GiveTheSameGradients) {
  mt_tensor* x =
      mt_require_grad(mt_reshape(mt_linspace(-1, 1, 12, MT_F64, nullptr), MT_DIMS(3, 4)));
  mt_tensor* w =
      mt_require_grad(mt_reshape(mt_linspace(-0.5, 1, 20, MT_F64, nullptr), MT_DIMS(4, 5)));
  mt_tensor* both[] = {x, w};
  Layer self = {w};
  Numbers expected[2];
  for (bool checkpointed : {false, true}) {
    mt_tensor* results[2];
    mt_status status = checkpointed ? mt_checkpoint(layer, &self, &x, 1, results, 2)
                                    : layer(&self, &x, 1, results, 2);
    ASSERT_EQ(status, MT_OK);
    EXPECT_TRUE(mt_requires_grad(results[0]));
    mt_backward(mt_mul(mt_sum(results[0], nullptr, 0), mt_mean(results[1], nullptr, 0)));
    for (int i = 0; i < 2; ++i) {
      Numbers found = numbers_of(mt_gradient(both[i]));
      if (checkpointed) {
        EXPECT_EQ(found, expected[i]);
      }
      expected[i] = found;
    }
    mt_zero_grad(both, 2);
  }
  EXPECT_EQ(self.calls, 2) << "recomputing records the operators, not the function";
}

mt_status checkpointed_layer(void* user, mt_tensor* const* inputs, size_t ninputs,
                             mt_tensor** results, size_t nresults) {
  return mt_checkpoint(layer, user, inputs, ninputs, results, nresults);
}

TEST_F(Checkpoints, CanBeDifferentiatedTwice) {
  Layer self = {doubles({0.5, -1, 0.25, 2}, {2, 2})};
  mt_tensor* x = doubles({0.3, -0.2}, {1, 2});
  mt_gradient_check_options options = MT_GRADIENT_CHECK_OPTIONS_INIT;
  options.order = 2;
  options.step = 1e-5;
  EXPECT_EQ(mt_gradient_check(checkpointed_layer, &self, &x, 1, &options), MT_OK)
      << mt_error_message();
}

mt_status chain(void*, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
  mt_tensor* x = inputs[0];
  for (int i = 0; i < 6; ++i) x = mt_cumulative_sum(mt_tanh(x), 0);
  results[0] = x;
  return MT_OK;
}

TEST_F(Checkpoints, RecomputeWhatDependsOnNothing) {
  // The weight requires no gradient, so its transpose within matmul depends on no input.
  Layer self = {doubles({0.5, -1, 0.25, 2}, {2, 2})};
  mt_tensor* x = mt_require_grad(doubles({0.3, -0.2}, {1, 2}));
  mt_tensor* y;
  mt_checkpoint(layer, &self, &x, 1, &y, 1);
  mt_backward(y);
  Numbers found = numbers_of(mt_gradient(x));
  EXPECT_NEAR(found[0], 0.8659102318, 1e-9);
  EXPECT_NEAR(found[1], -1.4851256593, 1e-9);
}

TEST_F(Checkpoints, KeepNoIntermediateValues) {
  int64_t kept[2];
  for (bool checkpointed : {false, true}) MT_SCOPE {
      mt_tensor* x = mt_require_grad(mt_linspace(-1, 1, 10000, MT_F32, nullptr));
      mt_eval(&x, 1);
      int64_t before = used_bytes();
      mt_tensor* y;
      checkpointed ? mt_checkpoint(chain, nullptr, &x, 1, &y, 1) : chain(nullptr, &x, 1, &y, 1);
      mt_eval(&y, 1);
      if (checkpointed) {
        mt_release(y);
        mt_checkpoint(chain, nullptr, &x, 1, &y, 1);
        mt_eval(&y, 1);
      }
      kept[checkpointed] = used_bytes() - before;
      mt_backward(mt_sum(y, nullptr, 0));
      mt_eval(nullptr, 0);
    }
  EXPECT_GE(kept[0], 5 * 40000);
  EXPECT_LT(kept[1], 2 * 49152);
}

mt_status wrong_gradient_forward(void*, mt_tensor* const* inputs, size_t, mt_tensor** results,
                                 size_t) {
  results[0] = mt_square(inputs[0]);
  return MT_OK;
}
mt_status wrong_gradient_backward(void*, mt_tensor* const*, size_t, mt_tensor* const*, size_t,
                                  mt_tensor* const* dy, mt_tensor** dx) {
  dx[0] = mt_mul(dy[0], mt_number(3));
  return MT_OK;
}
mt_status wrong_gradient(void*, mt_tensor* const* inputs, size_t ninputs, mt_tensor** results,
                         size_t nresults) {
  mt_operator wrong = {sizeof(mt_operator),     "wrong", wrong_gradient_forward,
                       wrong_gradient_backward, nullptr, nullptr};
  return mt_custom(&wrong, inputs, ninputs, results, nresults);
}

TEST_F(Checkpoints, GradientCheckFindsTheWrongElement) {
  mt_tensor* x = doubles({1.5, 1.5, 2, 1.5}, {2, 2});
  EXPECT_EQ(mt_gradient_check(wrong_gradient, nullptr, &x, 1, nullptr), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "input 0 at [1,0]"));
  mt_tensor* coarse = floats({1});
  EXPECT_EQ(mt_gradient_check(layer, nullptr, &coarse, 1, nullptr), MT_EDTYPE);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "float64"));
  mt_gradient_check_options options = MT_GRADIENT_CHECK_OPTIONS_INIT;
  options.order = 3;
  EXPECT_EQ(mt_gradient_check(layer, nullptr, &x, 1, &options), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "order 3"));
}

}  // namespace
