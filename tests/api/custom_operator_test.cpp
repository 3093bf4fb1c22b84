// SPDX-License-Identifier: Apache-2.0
// Operators of the user's own, with gradients of their own.
#include <cmath>

#include "api/support.h"

namespace {

class CustomOperators : public Api {};

struct Calls {
  int forward = 0, backward = 0, destroyed = 0;
};

mt_status both_forward(void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
  ++static_cast<Calls*>(user)->forward;
  EXPECT_FALSE(mt_grad_mode());
  EXPECT_FALSE(std::isnan(mt_item(mt_sum(inputs[0], nullptr, 0))));  // may read values
  results[0] = mt_mul(inputs[0], inputs[1]);
  results[1] = mt_exp(inputs[0]);
  return MT_OK;
}

mt_status both_backward(void* user, mt_tensor* const* inputs, size_t, mt_tensor* const* results,
                        size_t, mt_tensor* const* dy, mt_tensor** dx) {
  ++static_cast<Calls*>(user)->backward;
  dx[0] = mt_add(mt_mul(dy[0], inputs[1]), mt_mul(dy[1], results[1]));
  dx[1] = mt_mul(dy[0], inputs[0]);
  return MT_OK;
}

void both_destroy(void* user) { ++static_cast<Calls*>(user)->destroyed; }

TEST_F(CustomOperators, HaveTheirOwnGradient) {
  Calls calls;
  mt_operator both = {sizeof(mt_operator), "both",       both_forward,
                      both_backward,       both_destroy, &calls};
  MT_SCOPE {
    mt_tensor* inputs[] = {mt_require_grad(doubles({1, 2})), mt_require_grad(doubles({3, 4}))};
    mt_tensor* results[2];
    ASSERT_EQ(mt_custom(&both, inputs, 2, results, 2), MT_OK);
    EXPECT_EQ(numbers_of(results[0]), Numbers({3, 8}));
    EXPECT_TRUE(mt_requires_grad(results[1]));
    mt_backward(mt_sum(mt_add(mt_square(results[0]), results[1]), nullptr, 0));
    EXPECT_EQ(calls.backward, 1) << "once for all results";
    EXPECT_EQ(numbers_of(mt_gradient(inputs[0])),
              Numbers({2 * 3 * 3 + std::exp(1.0), 2 * 8 * 4 + std::exp(2.0)}));
    EXPECT_EQ(numbers_of(mt_gradient(inputs[1])), Numbers({6, 32}));
    // One result only, and not differentiated at all.
    ASSERT_EQ(mt_custom(&both, inputs, 2, results, 2), MT_OK);
    mt_zero_grad(inputs, 2);
    mt_backward(mt_sum(results[0], nullptr, 0));
    EXPECT_EQ(numbers_of(mt_gradient(inputs[0])), Numbers({3, 4}));
    MT_NO_GRAD { ASSERT_EQ(mt_custom(&both, inputs, 2, results, 2), MT_OK); }
  }
  EXPECT_EQ(calls.forward, 3);
  EXPECT_EQ(calls.destroyed, 3);
}

struct Within {
  mt_tape* ended = nullptr;
  mt_tape* begun = nullptr;
};

mt_status change_tapes(void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
  Within* self = static_cast<Within*>(user);
  mt_tape_release(self->ended);
  self->begun = mt_tape_begin();
  results[0] = mt_exp(inputs[0]);
  return MT_OK;
}

TEST_F(CustomOperators, MayEndAndBeginTapes) {
  mt_tensor *x = floats({1}), *y;
  mt_tape* outer = mt_tape_begin();
  Within within;
  within.ended = mt_tape_begin();
  mt_operator change = {sizeof(mt_operator), "change", change_tapes, nullptr, nullptr, &within};
  ASSERT_EQ(mt_custom(&change, &x, 1, &y, 1), MT_OK) << mt_error_message();
  mt_tensor* z = mt_square(y);
  mt_tape_end(within.begun);
  mt_tape_end(outer);
  EXPECT_STREQ(mt_tape_operator(within.begun, 1), "exp");
  EXPECT_EQ(mt_tape_find(within.begun, z), static_cast<int64_t>(mt_tape_length(within.begun)) - 1);
  EXPECT_EQ(mt_tape_find(outer, z), static_cast<int64_t>(mt_tape_length(outer)) - 1);
  for (size_t i = 0; i < mt_tape_length(outer); ++i) {
    EXPECT_STRNE(mt_tape_operator(outer, i), "exp");  // of the custom operator's own
  }
  mt_tape_release(within.begun);
  mt_tape_release(outer);
}

mt_status call_both(void* user, mt_tensor* const* inputs, size_t ninputs, mt_tensor** results,
                    size_t) {
  mt_operator both = {sizeof(mt_operator), "both", both_forward, both_backward, both_destroy, user};
  mt_tensor* two[2];
  mt_status status = mt_custom(&both, inputs, ninputs, two, 2);
  results[0] = mt_mul(two[0], two[1]);
  return status;
}

TEST_F(CustomOperators, GradientsCanBeDifferentiatedAgain) {
  Calls calls;
  mt_tensor* inputs[] = {doubles({0.3, -0.7}), doubles({1.1, 0.4})};
  mt_gradient_check_options options = MT_GRADIENT_CHECK_OPTIONS_INIT;
  options.order = 2;
  options.step = 1e-5;
  EXPECT_EQ(mt_gradient_check(call_both, &calls, inputs, 2, &options), MT_OK) << mt_error_message();
  EXPECT_EQ(calls.forward, calls.destroyed);
}

TEST_F(CustomOperators, WithoutBackward) {
  Calls calls;
  mt_operator both = {sizeof(mt_operator), "blind", both_forward, nullptr, nullptr, &calls};
  mt_tensor* inputs[] = {mt_require_grad(doubles({1})), doubles({3})};
  mt_tensor* results[2];
  ASSERT_EQ(mt_custom(&both, inputs, 2, results, 2), MT_OK);
  EXPECT_EQ(mt_backward(results[0]), MT_ENOGRAD);
  EXPECT_TRUE(failed_with(MT_ENOGRAD, "blind"));
  EXPECT_EQ(mt_gradient(inputs[0]), nullptr);
}

TEST_F(CustomOperators, WithoutResultsAreRefused) {
  Calls calls;
  mt_operator both = {sizeof(mt_operator), "none", both_forward, nullptr, nullptr, &calls};
  mt_tensor* inputs[] = {doubles({1}), doubles({3})};
  EXPECT_EQ(mt_custom(&both, inputs, 2, nullptr, 0), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "custom: a function without results"));
  EXPECT_EQ(mt_checkpoint(both_forward, &calls, inputs, 2, nullptr, 0), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "checkpoint: a function without results"));
  EXPECT_EQ(calls.forward, 0);
}

mt_status wrong_backward(void*, mt_tensor* const*, size_t, mt_tensor* const*, size_t,
                         mt_tensor* const*, mt_tensor** dx) {
  dx[0] = mt_zeros(MT_DIMS(7), MT_F64, nullptr);
  return MT_OK;
}

TEST_F(CustomOperators, GradientsMustFit) {
  Calls calls;
  mt_operator both = {sizeof(mt_operator), "odd", both_forward, wrong_backward, nullptr, &calls};
  mt_tensor* inputs[] = {mt_require_grad(doubles({1})), doubles({3})};
  mt_tensor* results[2];
  ASSERT_EQ(mt_custom(&both, inputs, 2, results, 2), MT_OK);
  EXPECT_EQ(mt_backward(results[0]), MT_ESHAPE);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "odd"));
}

TEST_F(CustomOperators, Replay) {
  Calls calls;
  mt_operator both = {sizeof(mt_operator), "both", both_forward, both_backward, nullptr, &calls};
  mt_tensor* inputs[] = {doubles({1}), doubles({3})};
  mt_tensor* results[2];
  mt_tape* tape = mt_tape_begin();
  mt_custom(&both, inputs, 2, results, 2);
  mt_tensor* y = mt_square(results[0]);
  mt_tape_end(tape);
  mt_tensor* other = doubles({2});
  mt_tensor* replayed;
  ASSERT_EQ(mt_tape_replay(tape, inputs, 1, &other, &y, 1, &replayed), MT_OK) << mt_error_message();
  EXPECT_EQ(mt_item(replayed), 36);
  mt_tensor* slope;
  ASSERT_EQ(mt_tape_gradient(tape, y, inputs, 1, &slope), MT_OK) << mt_error_message();
  EXPECT_EQ(mt_item(slope), 18);
  mt_tape_release(tape);
}

}  // namespace
