// SPDX-License-Identifier: Apache-2.0
// Gradients and training, as a program in C does them.
#include "api/support.h"

namespace {

class Training : public Api {};

TEST_F(Training, FitsALine) {
  float x[64], y[64];
  for (int i = 0; i < 64; i++) x[i] = static_cast<float>(i) / 64, y[i] = 3 * x[i] + 1;
  mt_tensor* w = mt_take(mt_require_grad(mt_zeros(MT_DIMS(1, 1), MT_F32, nullptr)));
  mt_tensor* b = mt_take(mt_require_grad(mt_zeros(MT_DIMS(1), MT_F32, nullptr)));
  mt_tensor* parameters[] = {w, b};
  double loss = 0;
  int64_t after_first_steps = 0;
  for (int step = 0; step < 500 && !mt_error(); step++) MT_SCOPE {
      mt_tensor* input = mt_wrap(x, MT_DIMS(64, 1), MT_F32, nullptr, nullptr, nullptr);
      mt_tensor* target = mt_wrap(y, MT_DIMS(64, 1), MT_F32, nullptr, nullptr, nullptr);
      mt_tensor* output = mt_add(mt_matmul(input, w), b);
      mt_tensor* error = mt_mean(mt_square(mt_sub(output, target)), nullptr, 0);
      mt_backward(error);
      mt_sgd(parameters, 2, 0.3);
      mt_zero_grad(parameters, 2);
      loss = mt_item(error);
      if (step == 10) after_first_steps = used_bytes();
    }
  EXPECT_NEAR(mt_item(w), 3, 1e-3);
  EXPECT_NEAR(mt_item(b), 1, 1e-3);
  EXPECT_LT(loss, 1e-6);
  EXPECT_LE(used_bytes(), after_first_steps) << "memory grows with the steps";
  mt_release(w);
  mt_release(b);
}

TEST_F(Training, GradientsAccumulateUntilTheyAreRemoved) {
  mt_tensor* w = mt_require_grad(floats({1, 2}));
  EXPECT_EQ(mt_gradient(w), nullptr);
  EXPECT_EQ(mt_error(), MT_OK);
  mt_backward(mt_sum(mt_square(w), nullptr, 0));
  mt_backward(mt_sum(w, nullptr, 0));
  EXPECT_EQ(numbers_of(mt_gradient(w)), Numbers({3, 5}));
  mt_zero_grad(&w, 1);
  EXPECT_EQ(mt_gradient(w), nullptr);
  mt_set_gradient(w, floats({5, 5}));
  mt_sgd(&w, 1, 1);
  EXPECT_EQ(numbers_of(w), Numbers({-4, -3}));
  EXPECT_EQ(numbers_of(mt_gradient(w)), Numbers({5, 5}));  // a step leaves it
  mt_set_gradient(w, nullptr);
  EXPECT_EQ(mt_gradient(w), nullptr);
}

TEST_F(Training, NarrowWeightsAreRoundedOnceAStep) {
  // In bfloat16 the rate and the product would be rounded as well.
  mt_tensor* w = mt_require_grad(mt_astype(floats({1, 1, 3}), MT_BF16));
  mt_tensor* g = mt_astype(floats({1.011f, 1.089f, 5.1f}), MT_BF16);
  mt_set_gradient(w, g);
  mt_tensor* wide = mt_sub(mt_astype(w, MT_F32), mt_mul(mt_astype(g, MT_F32), mt_number(0.3)));
  Numbers expected = numbers_of(mt_astype(wide, MT_BF16));
  Numbers twice = numbers_of(mt_sub(w, mt_mul(g, mt_astype(mt_number(0.3), MT_BF16))));
  EXPECT_EQ(mt_sgd(&w, 1, 0.3), MT_OK);
  EXPECT_EQ(numbers_of(w), expected);
  EXPECT_NE(expected, twice);
  EXPECT_EQ(mt_dtype_of(w), MT_BF16);
}

TEST_F(Training, UpdatedLeavesStartAfresh) {
  // Backward must not walk on into the step that made the new weights.
  mt_tensor* w = mt_require_grad(floats({1}));
  for (int step = 0; step < 3; ++step) {
    mt_backward(mt_sum(mt_square(w), nullptr, 0));
    EXPECT_EQ(mt_item(mt_gradient(w)), 2 * mt_item(w));
    mt_sgd(&w, 1, 0.25);
    mt_zero_grad(&w, 1);
    EXPECT_TRUE(mt_is_leaf(w));
    EXPECT_TRUE(mt_requires_grad(w));
  }
  EXPECT_EQ(mt_item(w), 0.125);
}

TEST_F(Training, ALeafBoundAnewCollectsAllOfItsGradient) {
  mt_tensor* w = mt_require_grad(floats({2}));
  mt_tensor* before = mt_mul(w, mt_number(3));
  ASSERT_EQ(mt_assign(w, floats({5})), MT_OK);
  mt_tensor* after = mt_mul(w, mt_number(4));
  ASSERT_EQ(mt_backward(mt_sum(mt_add(before, after), nullptr, 0)), MT_OK);
  EXPECT_EQ(mt_item(mt_gradient(w)), 7);
}

TEST_F(Training, SharedValuesBecomeLeavesOfTheirOwn) {
  mt_tensor* x = floats({1, 2});
  mt_tensor* same = mt_reshape(x, MT_DIMS(2));
  mt_tensor* before = mt_mul(x, x);
  mt_tensor* w = mt_require_grad(x);
  EXPECT_EQ(w, x);
  EXPECT_FALSE(mt_requires_grad(same));
  EXPECT_FALSE(mt_requires_grad(before));
  EXPECT_TRUE(mt_requires_grad(mt_mul(x, x)));
  EXPECT_EQ(mt_set_requires_grad(x, false), MT_OK);
  EXPECT_FALSE(mt_requires_grad(x));
  EXPECT_TRUE(mt_is_leaf(x));
}

TEST_F(Training, ALeafMadeOfAProductIsALeaf) {
  // A sum looks through a broadcast product to make it a contraction, but not through a leaf.
  mt_tensor* w = mt_require_grad(mt_mul(floats({1, 2}, {2, 1}), floats({3, 4}, {1, 2})));
  mt_backward(mt_sum(mt_sum(w, MT_DIMS(0)), nullptr, 0));
  ASSERT_NE(mt_gradient(w), nullptr);
  EXPECT_EQ(numbers_of(mt_gradient(w)), Numbers({1, 1, 1, 1}));
}

TEST_F(Training, FrozenLeavesStay) {
  mt_tensor* w = mt_require_grad(floats({1}));
  mt_tensor* v = mt_require_grad(floats({1}));
  mt_set_requires_grad(v, false);
  mt_backward(mt_sum(mt_mul(w, v), nullptr, 0));
  mt_tensor* both[] = {w, v};
  mt_sgd(both, 2, 0.5);
  EXPECT_EQ(mt_item(w), 0.5);
  EXPECT_EQ(mt_item(v), 1);
  EXPECT_EQ(mt_gradient(v), nullptr);
}

TEST_F(Training, NoGradRecordsNoHistory) {
  mt_tensor* w = mt_require_grad(floats({2}));
  MT_NO_GRAD {
    EXPECT_FALSE(mt_grad_mode());
    EXPECT_FALSE(mt_requires_grad(mt_square(w)));
    MT_NO_GRAD { EXPECT_FALSE(mt_grad_mode()); }
    EXPECT_FALSE(mt_grad_mode());
    mt_assign(w, mt_mul(w, mt_number(3)));
  }
  EXPECT_TRUE(mt_grad_mode());
  EXPECT_EQ(mt_item(w), 6);
  EXPECT_TRUE(mt_is_leaf(w) && mt_requires_grad(w));
  mt_backward(mt_square(w));
  EXPECT_EQ(mt_item(mt_gradient(w)), 12);
}

TEST_F(Training, DetachCutsTheHistory) {
  mt_tensor* w = mt_require_grad(floats({3}));
  mt_tensor* y = mt_square(w);
  mt_tensor* constant = mt_detach(y);
  EXPECT_FALSE(mt_requires_grad(constant));
  mt_backward(mt_mul(y, constant));
  EXPECT_EQ(mt_item(mt_gradient(w)), 6 * 9);
}

TEST_F(Training, GradIsPure) {
  mt_tensor* x = mt_require_grad(floats({2}));
  mt_tensor* unused = mt_require_grad(floats({1, 1}));
  mt_tensor* y = mt_mul(mt_square(x), x);
  mt_tensor* inputs[] = {x, unused};
  mt_tensor* found[2];
  ASSERT_EQ(mt_grad(&y, 1, inputs, 2, nullptr, found), MT_OK);
  EXPECT_EQ(mt_item(found[0]), 12);
  EXPECT_EQ(numbers_of(found[1]), Numbers({0, 0}));
  EXPECT_EQ(mt_gradient(x), nullptr);
  mt_tensor* second;
  ASSERT_EQ(mt_grad(&found[0], 1, &x, 1, nullptr, &second), MT_OK);
  EXPECT_EQ(mt_item(second), 12);
  mt_tensor* third;
  ASSERT_EQ(mt_grad(&second, 1, &x, 1, nullptr, &third), MT_OK);
  EXPECT_EQ(mt_item(third), 6);
  MT_NO_GRAD {
    ASSERT_EQ(mt_grad(&y, 1, &x, 1, nullptr, found), MT_OK);
    EXPECT_FALSE(mt_requires_grad(found[0]));
  }
  mt_tensor* weight = floats({10});
  ASSERT_EQ(mt_grad(&y, 1, &x, 1, &weight, found), MT_OK);
  EXPECT_EQ(mt_item(found[0]), 120);
}

TEST_F(Training, BackwardWithOptions) {
  mt_tensor* w = mt_require_grad(floats({1, 2, 3}));
  mt_tensor* y = mt_square(w);
  mt_backward_options retain = MT_BACKWARD_OPTIONS_INIT;
  retain.retain = true;
  EXPECT_EQ(mt_backward_with(y, floats({1, 0, 2}), &retain), MT_OK);
  EXPECT_EQ(numbers_of(mt_gradient(w)), Numbers({2, 0, 12}));
  EXPECT_EQ(mt_backward_with(y, nullptr, nullptr), MT_OK);
  EXPECT_EQ(numbers_of(mt_gradient(w)), Numbers({4, 4, 18}));
  mt_zero_grad(&w, 1);
  mt_backward_options deep = MT_BACKWARD_OPTIONS_INIT;
  deep.differentiable = true;
  mt_backward_with(mt_mul(mt_square(w), w), nullptr, &deep);
  mt_tensor* slope = mt_gradient(w);
  EXPECT_TRUE(mt_requires_grad(slope));
  mt_tensor* curvature;
  mt_grad(&slope, 1, &w, 1, nullptr, &curvature);
  EXPECT_EQ(numbers_of(curvature), Numbers({6, 12, 18}));
  mt_zero_grad(&w, 1);
}

TEST_F(Training, GradientsNobodyReadsGoWithTheirLeaf) {
  // The pending gradient refers to the leaf's value.
  mt_tensor* y = nullptr;
  MT_SCOPE {
    mt_tensor* w = mt_require_grad(mt_ones(MT_DIMS(1000), MT_F32, nullptr));
    mt_tensor* loss = mt_sum(mt_square(w), nullptr, 0);
    mt_eval(&loss, 1);
    mt_backward(loss);
    mt_tensor* v = mt_require_grad(mt_ones(MT_DIMS(1000), MT_F32, nullptr));
    mt_eval(&v, 1);
    y = mt_take(mt_sum(mt_square(v), nullptr, 0));
  }
  EXPECT_EQ(mt_backward(y), MT_OK);  // its leaf is gone
  mt_release(y);
}

TEST_F(Training, RunningTotalsStayFlat) {
  mt_tensor* w = mt_require_grad(mt_ones(MT_DIMS(1000), MT_F32, nullptr));
  mt_tensor* total = mt_zeros(nullptr, 0, MT_F32, nullptr);
  int64_t early = 0;
  for (int step = 0; step < 50; ++step) MT_SCOPE {
      mt_tensor* loss = mt_sum(mt_square(w), nullptr, 0);
      mt_backward(loss);
      mt_assign(total, mt_add(total, loss));
      mt_sgd(&w, 1, 0.0);
      mt_zero_grad(&w, 1);
      mt_eval(nullptr, 0);
      if (step == 5) early = used_bytes();
    }
  EXPECT_EQ(mt_item(total), 50000);
  EXPECT_LE(used_bytes(), early);
}

}  // namespace
