// SPDX-License-Identifier: Apache-2.0
// Tapes as handles.
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

}  // namespace
