// SPDX-License-Identifier: Apache-2.0
// Tapes as handles, and the user's own functions.
#include <cmath>

#include "api/support.h"

namespace {

class Tapes : public Api {};

TEST_F(Tapes, CanBeWalkedAndPrinted) {
  mt_tensor* x = floats({1, 2});
  mt_tensor* y = floats({3, 4});
  mt_tape* tape = mt_tape_begin();
  mt_tensor* product = mt_mul(x, y);
  mt_tensor* total = mt_sum(product, nullptr, 0);
  EXPECT_EQ(mt_item(total), 11);  // reading is no harm
  EXPECT_EQ(mt_tape_end(tape), MT_OK);
  mt_exp(x);
  ASSERT_EQ(mt_tape_length(tape), 4u);
  EXPECT_STREQ(mt_tape_operator(tape, 0), "input");
  EXPECT_STREQ(mt_tape_operator(tape, 2), "mul");
  EXPECT_STREQ(mt_tape_operator(tape, 3), "sum");
  int64_t inputs[2] = {-1, -1};
  EXPECT_EQ(mt_tape_inputs(tape, 2, inputs, 2), 2u);
  EXPECT_EQ(inputs[0], 0);
  EXPECT_EQ(inputs[1], 1);
  EXPECT_EQ(mt_tape_inputs(tape, 2, nullptr, 0), 2u);
  EXPECT_EQ(mt_tape_ndim(tape, 2), 1u);
  EXPECT_EQ(mt_tape_dims(tape, 2)[0], 2);
  EXPECT_EQ(mt_tape_dtype(tape, 2), MT_F32);
  EXPECT_EQ(numbers_of(mt_tape_tensor(tape, 2)), Numbers({3, 8}));
  EXPECT_EQ(mt_tape_find(tape, total), 3);
  EXPECT_EQ(mt_tape_find(tape, mt_number(1)), -1);
  char* text = mt_tape_to_string(tape);
  EXPECT_STREQ(text,
               "%0 = input  float32[2]\n%1 = input  float32[2]\n%2 = mul(%0, %1)  float32[2]\n"
               "%3 = sum(%2)  float32[]\n");
  mt_free_string(text);
  char* dot = mt_tape_to_dot(tape);
  EXPECT_NE(std::string(dot).find("n2 -> n3"), std::string::npos);
  mt_free_string(dot);
  mt_tape_release(tape);
}

TEST_F(Tapes, DifferentiateAndReplay) {
  mt_tensor* x = floats({1, 2, 3, 4}, {2, 2});
  mt_tape* tape = mt_tape_begin();
  mt_tensor* rows = mt_slice(mt_matrix_transpose(x), 0, 1, 2, 1);
  mt_tensor* y = mt_sum(mt_square(mt_reshape(rows, MT_DIMS(2))), nullptr, 0);
  mt_tape_end(tape);
  mt_tensor* gradient;
  ASSERT_EQ(mt_tape_gradient(tape, y, &x, 1, &gradient), MT_OK);
  EXPECT_EQ(numbers_of(gradient), Numbers({0, 4, 0, 8}));
  mt_tensor* other = mt_matrix_transpose(floats({5, 6, 7, 8}, {2, 2}));
  mt_tensor* replayed;
  ASSERT_EQ(mt_tape_replay(tape, &x, 1, &other, &y, 1, &replayed), MT_OK);
  EXPECT_EQ(mt_item(replayed), 7 * 7 + 8 * 8);
  EXPECT_EQ(mt_item(y), 4 + 16);
  mt_tape_release(tape);
}

TEST_F(Tapes, DifferentiateToValuesThatDependOnEachOther) {
  mt_tensor* x = floats({1, 2}, {2});
  mt_tape* tape = mt_tape_begin();
  mt_tensor* squares = mt_square(x);
  mt_tensor* triple = mt_mul(squares, mt_number(3));
  mt_tensor* signs = mt_astype(mt_greater(squares, mt_number(2)), MT_F32);  // of no gradient to x
  mt_tensor* y = mt_sum(mt_mul(mt_add(triple, squares), signs), nullptr, 0);
  mt_tape_end(tape);
  mt_tensor *inputs[] = {y, triple, signs, x, squares}, *found[5];
  ASSERT_EQ(mt_tape_gradient(tape, y, inputs, 5, found), MT_OK) << mt_error_message();
  EXPECT_EQ(numbers_of(found[0]), Numbers({1}));
  EXPECT_EQ(numbers_of(found[1]), Numbers({0, 1}));
  EXPECT_EQ(numbers_of(found[2]), Numbers({4, 16}));
  EXPECT_EQ(numbers_of(found[3]), Numbers({0, 16}));
  EXPECT_EQ(numbers_of(found[4]), Numbers({0, 4}));
  mt_tape_release(tape);
}

TEST_F(Tapes, SurviveBackward) {
  mt_tensor* w = mt_require_grad(floats({3}));
  mt_tape* tape = mt_tape_begin();
  mt_tensor* loss = mt_sum(mt_square(w), nullptr, 0);
  mt_backward(loss);
  mt_tape_end(tape);
  mt_eval(nullptr, 0);
  int64_t inputs[1];
  EXPECT_EQ(mt_tape_inputs(tape, static_cast<size_t>(mt_tape_find(tape, loss)), inputs, 1), 1u);
  mt_tensor* slope;
  ASSERT_EQ(mt_tape_gradient(tape, loss, &w, 1, &slope), MT_OK);
  EXPECT_EQ(mt_item(slope), 6);
  mt_tape_release(tape);
  EXPECT_EQ(mt_item(mt_gradient(w)), 6);
}

TEST_F(Tapes, ResultsMayReplaceOperands) {
  mt_tensor* x = mt_require_grad(floats({2}, {1}));
  mt_tensor* y = mt_square(mt_square(x));
  for (double derivative : {32., 48., 48.}) {  // x^4 three times
    ASSERT_EQ(mt_grad(&y, 1, &x, 1, nullptr, &y), MT_OK);
    EXPECT_EQ(mt_item(y), derivative);
  }
  mt_tensor* both[] = {x, nullptr};
  EXPECT_EQ(mt_grad(&y, 1, both, 2, nullptr, both), MT_ENULL);
  EXPECT_EQ(both[0], nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "grad"));
}

TEST_F(Tapes, AreReadWhileTheyRecord) {
  mt_tensor* x = floats({2});
  mt_tape* tape = mt_tape_begin();
  mt_tensor *y = x, *gradient;
  for (int i = 0; i < 40; ++i) y = mt_mul(y, mt_number(1));
  y = mt_square(y);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(mt_tape_gradient(tape, y, &x, 1, &gradient), MT_OK) << mt_error_message();
    EXPECT_EQ(mt_item(gradient), 4);
  }
  EXPECT_GT(mt_tape_find(tape, gradient), mt_tape_find(tape, y));
  mt_tape_release(tape);
}

TEST_F(Tapes, Nest) {
  mt_tensor* x = floats({1});
  mt_tape* outer = mt_tape_begin();
  mt_square(x);
  mt_tape* inner = mt_tape_begin();
  mt_tensor* y = mt_exp(x);
  mt_tape_end(inner);
  mt_tape_release(outer);
  EXPECT_EQ(mt_tape_find(inner, y), 1);
  mt_tape_release(inner);
}

// ------------------------------------------------------------------------ Custom operators

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

TEST_F(Tapes, CustomOperatorsHaveTheirOwnGradient) {
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

TEST_F(Tapes, EndAndBeginWithinCustomOperators) {
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

TEST_F(Tapes, CustomGradientsCanBeDifferentiatedAgain) {
  Calls calls;
  mt_tensor* inputs[] = {doubles({0.3, -0.7}), doubles({1.1, 0.4})};
  mt_gradient_check_options options = MT_GRADIENT_CHECK_OPTIONS_INIT;
  options.order = 2;
  options.step = 1e-5;
  EXPECT_EQ(mt_gradient_check(call_both, &calls, inputs, 2, &options), MT_OK) << mt_error_message();
  EXPECT_EQ(calls.forward, calls.destroyed);
}

TEST_F(Tapes, CustomWithoutBackward) {
  Calls calls;
  mt_operator both = {sizeof(mt_operator), "blind", both_forward, nullptr, nullptr, &calls};
  mt_tensor* inputs[] = {mt_require_grad(doubles({1})), doubles({3})};
  mt_tensor* results[2];
  ASSERT_EQ(mt_custom(&both, inputs, 2, results, 2), MT_OK);
  EXPECT_EQ(mt_backward(results[0]), MT_ENOGRAD);
  EXPECT_TRUE(failed_with(MT_ENOGRAD, "blind"));
  EXPECT_EQ(mt_gradient(inputs[0]), nullptr);
}

mt_status wrong_backward(void*, mt_tensor* const*, size_t, mt_tensor* const*, size_t,
                         mt_tensor* const*, mt_tensor** dx) {
  dx[0] = mt_zeros(MT_DIMS(7), MT_F64, nullptr);
  return MT_OK;
}

TEST_F(Tapes, CustomGradientsMustFit) {
  Calls calls;
  mt_operator both = {sizeof(mt_operator), "odd", both_forward, wrong_backward, nullptr, &calls};
  mt_tensor* inputs[] = {mt_require_grad(doubles({1})), doubles({3})};
  mt_tensor* results[2];
  ASSERT_EQ(mt_custom(&both, inputs, 2, results, 2), MT_OK);
  EXPECT_EQ(mt_backward(results[0]), MT_ESHAPE);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "odd"));
}

TEST_F(Tapes, CustomOperatorsReplay) {
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

// ----------------------------------------------------------------------------- Checkpoints

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

TEST_F(Tapes, CheckpointsGiveTheSameGradients) {
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

TEST_F(Tapes, CheckpointsCanBeDifferentiatedTwice) {
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

TEST_F(Tapes, CheckpointsRecomputeWhatDependsOnNothing) {
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

TEST_F(Tapes, CheckpointsKeepNoIntermediateValues) {
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

// -------------------------------------------------------------------------- Gradient check

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

TEST_F(Tapes, GradientCheckFindsTheWrongElement) {
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
