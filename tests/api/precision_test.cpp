// SPDX-License-Identifier: Apache-2.0
// The precision of products: which mode a product has, in every way of running.
#include "api/support.h"
#include "backends/cpu/instruction_set.h"

namespace {

constexpr int64_t size = 192;

class Precision : public Api {
 protected:
  void TearDown() override {
    EXPECT_EQ(mt_set_matmul_precision(MT_PRECISION_STRICT), MT_OK);
    Api::TearDown();
  }
};

mt_tensor* matrix(int seed) {
  mt_tensor* x = mt_reshape(mt_arange(0, size * size, 1, MT_F32, nullptr), MT_DIMS(size, size));
  return mt_copy(mt_sin(mt_mul(x, mt_number(0.37 + seed))));
}

Numbers in_mode(int mode, Numbers (*run)()) {
  EXPECT_EQ(mt_set_matmul_precision(mode), MT_OK);
  Numbers result = run();
  mt_set_matmul_precision(MT_PRECISION_STRICT);
  return result;
}
Numbers in_mode(int mode, mt_tensor* (*make)()) {
  EXPECT_EQ(mt_set_matmul_precision(mode), MT_OK);
  Numbers result = numbers_of(make());
  mt_set_matmul_precision(MT_PRECISION_STRICT);
  return result;
}

mt_tensor* plain() { return mt_matmul(matrix(1), matrix(2)); }

// What a mode gives differs from strict results just where there is a unit for it.
bool available(int mode) { return mt_matmul_precision_available(mode, "cpu"); }

TEST_F(Precision, IsStrictAtFirstAndNamesWhatItRefuses) {
  EXPECT_EQ(mt_matmul_precision(), MT_PRECISION_STRICT);
  EXPECT_EQ(mt_set_matmul_precision(4), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "set_matmul_precision: there is no mode 4"));
  EXPECT_EQ(mt_set_matmul_precision(-1), MT_EINVAL);
  mt_clear();
  EXPECT_EQ(mt_matmul_precision(), MT_PRECISION_STRICT);
  mt_set_matmul_precision(MT_PRECISION_SPLIT);
  EXPECT_EQ(mt_matmul_precision(), MT_PRECISION_SPLIT);
}

TEST_F(Precision, AvailabilityIsAQuestion) {
  EXPECT_FALSE(mt_matmul_precision_available(MT_PRECISION_STRICT, "cpu"));
  EXPECT_FALSE(mt_matmul_precision_available(7, "cpu"));
  EXPECT_FALSE(mt_matmul_precision_available(MT_PRECISION_BF16, "cpu:reference"));
  EXPECT_FALSE(mt_matmul_precision_available(MT_PRECISION_BF16, "nonsense"));
  // A unit for split numbers is one for bfloat16.
  EXPECT_TRUE(available(MT_PRECISION_BF16) || !available(MT_PRECISION_SPLIT));
  EXPECT_FALSE(available(MT_PRECISION_TF32));
}

TEST_F(Precision, Tf32IsStrictOnTheCpu) {
  EXPECT_EQ(in_mode(MT_PRECISION_TF32, plain), in_mode(MT_PRECISION_STRICT, plain));
}

TEST_F(Precision, ADeferredProductKeepsTheModeItWasWrittenIn) {
  const Numbers strict = in_mode(MT_PRECISION_STRICT, plain);
  const Numbers rounded = in_mode(MT_PRECISION_BF16, plain);
  const Numbers split = in_mode(MT_PRECISION_SPLIT, plain);
  EXPECT_EQ(rounded != strict, available(MT_PRECISION_BF16));
  EXPECT_EQ(split != strict, available(MT_PRECISION_SPLIT));
  mt_tensor *a = matrix(1), *b = matrix(2);
  mt_set_matmul_precision(MT_PRECISION_BF16);
  mt_tensor* first = mt_matmul(a, b);
  mt_set_matmul_precision(MT_PRECISION_SPLIT);
  mt_tensor* second = mt_matmul(a, b);
  mt_set_matmul_precision(MT_PRECISION_STRICT);
  mt_tensor* third = mt_matmul(a, b);
  EXPECT_EQ(numbers_of(third), strict) << "plans of equal shapes are told apart by the mode";
  EXPECT_EQ(numbers_of(first), rounded);
  EXPECT_EQ(numbers_of(second), split);
  mt_tensor* lone = mt_matmul(mt_copy(a), mt_copy(b));
  EXPECT_EQ(numbers_of(lone), strict);
}

mt_tensor* with_epilogue() {
  mt_tensor* y = mt_linear(matrix(1), matrix(2), mt_linspace(-1, 1, size, MT_F32, nullptr));
  return mt_add(mt_gelu(y), matrix(3));
}
mt_tensor* by_einsum() {
  mt_tensor* tensors[] = {matrix(1), matrix(2)};
  return mt_einsum("ij,kj->ki", tensors, 2);
}

TEST_F(Precision, EveryWayOfRunningGivesTheSameBits) {
  const int threads = mt_threads();
  for (int mode : {MT_PRECISION_SPLIT, MT_PRECISION_BF16}) {
    for (auto make : {plain, with_epilogue, by_einsum}) {
      const Numbers deferred = in_mode(mode, make);
      mt_set_eager(true);
      EXPECT_EQ(in_mode(mode, make), deferred);
      mt_set_eager(false);
      for (int count : {1, 2, 3}) {
        mt_set_threads(count);
        EXPECT_EQ(in_mode(mode, make), deferred);
      }
      mt_set_threads(threads);
    }
  }
}

mt_status traced(void*, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
  results[0] = mt_tanh(mt_matmul(inputs[0], inputs[1]));
  return mt_error();
}

TEST_F(Precision, ATraceKeepsTheModeItWasRecordedIn) {
  mt_tensor* inputs[] = {matrix(1), matrix(2)};
  mt_set_matmul_precision(MT_PRECISION_BF16);
  const Numbers expected = numbers_of(mt_tanh(mt_matmul(inputs[0], inputs[1])));
  mt_trace* trace = mt_trace_new(traced, nullptr);
  for (int call = 0; call < 3; ++call) {
    mt_tensor* result = nullptr;
    ASSERT_EQ(mt_trace_call(trace, inputs, 2, &result, 1), MT_OK) << mt_error_message();
    EXPECT_EQ(numbers_of(result), expected);
    mt_set_matmul_precision(MT_PRECISION_STRICT);
  }
  mt_trace_release(trace);
}

TEST_F(Precision, GradientsAreFormedInTheModeOfTheirProduct) {
  auto gradients = [](int mode, int backward_mode) {
    mt_set_matmul_precision(mode);
    mt_tensor* leaves[] = {mt_require_grad(matrix(1)), mt_require_grad(matrix(2))};
    mt_tensor* loss = mt_sum(mt_mul(mt_matmul(leaves[0], leaves[1]), matrix(3)), nullptr, 0);
    mt_set_matmul_precision(backward_mode);
    mt_tensor* found[2];
    EXPECT_EQ(mt_grad(&loss, 1, leaves, 2, nullptr, found), MT_OK) << mt_error_message();
    Numbers result = numbers_of(found[0]);
    for (double x : numbers_of(found[1])) result.push_back(x);
    mt_set_matmul_precision(MT_PRECISION_STRICT);
    return result;
  };
  const Numbers strict = gradients(MT_PRECISION_STRICT, MT_PRECISION_STRICT);
  EXPECT_EQ(gradients(MT_PRECISION_STRICT, MT_PRECISION_BF16), strict);
  const Numbers rounded = gradients(MT_PRECISION_BF16, MT_PRECISION_STRICT);
  EXPECT_EQ(rounded != strict, available(MT_PRECISION_BF16));
  const Numbers split = gradients(MT_PRECISION_SPLIT, MT_PRECISION_STRICT);
  for (size_t i = 0; i < strict.size(); ++i) {
    // The sums are of 192 products of at most 1.
    ASSERT_NEAR(rounded[i], strict[i], 0.005 * size);
    ASSERT_NEAR(split[i], strict[i], 1e-6 * size);
  }
}

TEST_F(Precision, ConvolutionsAndOtherTypesStayAsTheyAre) {
  auto run = [](int mode) {
    mt_set_matmul_precision(mode);
    mt_tensor* image = mt_reshape(mt_sin(mt_arange(0, 2 * 32 * 32 * 32, 1, MT_F32, nullptr)),
                                  MT_DIMS(2, 32, 32, 32));
    mt_tensor* weight =
        mt_reshape(mt_cos(mt_arange(0, 64 * 32 * 9, 1, MT_F32, nullptr)), MT_DIMS(64, 32, 3, 3));
    Numbers result = numbers_of(mt_conv2d(image, weight, nullptr, nullptr));
    mt_tensor *a = mt_astype(matrix(1), MT_F64), *b = mt_astype(matrix(2), MT_F64);
    for (double x : numbers_of(mt_matmul(a, b))) result.push_back(x);
    mt_set_matmul_precision(MT_PRECISION_STRICT);
    return result;
  };
  EXPECT_EQ(run(MT_PRECISION_BF16), run(MT_PRECISION_STRICT));
}

// A layer of bfloat16 and its gradients.
Numbers layer_of_bfloat16() {
  mt_tensor* leaves[3];
  for (int i = 0; i < 3; ++i) {
    mt_tensor* x = i < 2 ? matrix(i) : mt_linspace(-1, 1, size, MT_F32, nullptr);
    leaves[i] = mt_require_grad(mt_astype(x, MT_BF16));
  }
  mt_tensor* y = mt_gelu(mt_linear(leaves[0], leaves[1], leaves[2]));
  mt_tensor* loss = mt_sum(mt_mul(y, mt_astype(matrix(3), MT_BF16)), nullptr, 0);
  mt_tensor* found[3];
  EXPECT_EQ(mt_grad(&loss, 1, leaves, 3, nullptr, found), MT_OK) << mt_error_message();
  Numbers result = numbers_of(y);
  for (mt_tensor* gradient : found) {
    for (double x : numbers_of(gradient)) result.push_back(x);
  }
  return result;
}

TEST_F(Precision, OfBfloat16EveryMachineAndWayOfRunningGivesTheSameBits) {
  const int threads = mt_threads();
  const Numbers expected = layer_of_bfloat16();
  for (const char* name : {"AVX3", "AVX2", "NEON", "EMU128", "SCALAR"}) {
    if (!mt::cpu::set_instruction_set(name)) continue;
    for (bool eager : {false, true}) {
      mt_set_eager(eager);
      for (int count : {1, 2, 3}) {
        mt_set_threads(count);
        EXPECT_EQ(layer_of_bfloat16(), expected) << name << ", eager: " << eager << ", " << count;
      }
    }
    mt_set_eager(false);
    mt_set_threads(threads);
  }
  mt::cpu::set_instruction_set(nullptr);
  EXPECT_EQ(in_mode(MT_PRECISION_BF16, layer_of_bfloat16), expected) << "they know no mode";
}

}  // namespace
