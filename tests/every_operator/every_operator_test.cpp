// SPDX-License-Identifier: Apache-2.0
// What holds for every operator, whichever it is: a new one arrives tested.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "every_operator/cases.h"

namespace every_operator {

void PrintTo(const Case& one, std::ostream* out) { *out << one.name << " " << one.variant; }

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name + "_" + info.param.variant;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name + "_" + std::to_string(info.index);
}

// MT_TEST_DEVICE names the device that is compared with the reference.
const char* tested() {
  const char* device = std::getenv("MT_TEST_DEVICE");
  return device ? device : "cpu";
}

namespace {

class EveryOperator : public testing::TestWithParam<Case> {
 protected:
  void TearDown() override {
    EXPECT_EQ(mt_error(), MT_OK) << mt_error_message();
    mt_clear();
    mt_set_eager(false);
  }

  struct Value {
    std::vector<int64_t> dims;
    mt_dtype dtype = 0;
    std::vector<double> numbers;
    std::string bytes;
  };
  static Value read(mt_tensor* tensor) {
    Value value;
    if (!tensor) return value;
    value.dims.assign(mt_dims(tensor), mt_dims(tensor) + mt_ndim(tensor));
    value.dtype = mt_dtype_of(tensor);
    value.bytes.resize(static_cast<size_t>(mt_size(tensor)) * mt_dtype_size(value.dtype));
    mt_copy_to_host(tensor, value.bytes.data(), value.bytes.size());
    value.numbers.resize(static_cast<size_t>(mt_size(tensor)));
    mt_copy_to_host(mt_astype(tensor, MT_F64), value.numbers.data(), value.numbers.size() * 8);
    return value;
  }

  Value run(mt_dtype floating, const char* device) const {
    Value value;
    MT_SCOPE {
      auto in = GetParam().make_inputs(floating, device);
      value = read(GetParam().call(in.data()));
    }
    return value;
  }

  void expect_reference(mt_dtype floating, double tolerance) const {
    Value ours = run(floating, tested()), naive = run(floating, "cpu:reference");
    ASSERT_EQ(ours.dims, naive.dims);
    ASSERT_EQ(ours.dtype, naive.dtype);
    double largest = 1e-30;
    for (double number : naive.numbers) largest = std::max(largest, std::fabs(number));
    for (size_t i = 0; i < naive.numbers.size(); ++i) {
      EXPECT_NEAR(ours.numbers[i], naive.numbers[i], tolerance * largest) << "element " << i;
    }
  }
};

TEST_P(EveryOperator, AgreesWithTheReferenceInFloat32) {
  expect_reference(MT_F32, GetParam().tolerance);
}

TEST_P(EveryOperator, AgreesWithTheReferenceInFloat64) {
  expect_reference(MT_F64, GetParam().tolerance * 1e-8);
}

// Every operator rounds a 16-bit result once, so it is within half a unit of float32's.
TEST_P(EveryOperator, RoundsBfloat16Once) {
  if (!GetParam().narrow) GTEST_SKIP() << "refuses them";
  Value narrow = run(MT_BF16, tested()), naive = run(MT_BF16, "cpu:reference");
  ASSERT_EQ(narrow.dtype, naive.dtype);
  double largest = 1e-30;
  for (double number : naive.numbers) largest = std::max(largest, std::fabs(number));
  for (size_t i = 0; i < naive.numbers.size(); ++i) {
    EXPECT_NEAR(narrow.numbers[i], naive.numbers[i], 0x1p-7 * largest) << "element " << i;
  }
}

TEST_P(EveryOperator, IsTheSameEagerAndDeferred) {
  Value deferred = run(MT_F32, tested());
  mt_set_eager(true);
  Value eager = run(MT_F32, tested());
  EXPECT_EQ(deferred.bytes, eager.bytes);
}

// The same values of another layout: column by column, backwards, and with others in between.
mt_tensor* stored(mt_tensor* x) {
  x = mt_copy(x);
  mt_eval(&x, 1);
  return x;
}
mt_tensor* transposed(mt_tensor* x) {
  std::vector<int64_t> axes(mt_ndim(x));
  for (size_t d = 0; d < axes.size(); ++d) axes[d] = static_cast<int64_t>(axes.size() - 1 - d);
  return mt_permute_dims(stored(mt_permute_dims(x, axes.data(), axes.size())), axes.data(),
                         axes.size());
}
mt_tensor* reversed(mt_tensor* x) { return mt_flip(stored(mt_flip(x, nullptr, 0)), nullptr, 0); }
mt_tensor* sparse(mt_tensor* x) {
  return mt_ndim(x) == 0 ? x : mt_slice(stored(mt_repeat(x, 3, -1)), -1, 1, MT_OPEN, 3);
}

TEST_P(EveryOperator, IsTheSameHoweverItsInputsLie) {
  for (mt_dtype floating : {MT_F32, MT_F64, MT_BF16}) {
    if (floating == MT_BF16 && !GetParam().narrow) continue;
    const Value expected = run(floating, tested());
    for (auto* lie : {transposed, reversed, sparse}) {
      for (bool eager : {false, true}) MT_SCOPE {
          mt_set_eager(eager);
          auto in = GetParam().make_inputs(floating, tested());
          for (mt_tensor*& x : in) x = lie(x);
          EXPECT_EQ(read(GetParam().call(in.data())).bytes, expected.bytes);
        }
    }
  }
}

TEST_P(EveryOperator, IsTheSameReplayed) {
  if (!GetParam().traced) GTEST_SKIP() << "its result's shape depends on values";
  Value called = run(MT_F32, tested());
  auto function = [](void* user, mt_tensor* const* in, size_t, mt_tensor** results, size_t) {
    results[0] = static_cast<const Case*>(user)->call(in);
    return mt_error();
  };
  mt_trace* trace = mt_trace_new(function, const_cast<Case*>(&GetParam()));
  for (int round = 0; round < 2; ++round) MT_SCOPE {
      auto in = GetParam().make_inputs(MT_F32, tested());
      mt_tensor* result = nullptr;
      mt_trace_call(trace, in.data(), in.size(), &result, 1);
      EXPECT_EQ(read(result).bytes, called.bytes) << mt_error_message();
    }
  EXPECT_EQ(mt_trace_count(trace), 1u);
  mt_trace_release(trace);
}

TEST_P(EveryOperator, HasTheGradientThatDifferencesShow) {
  if (GetParam().order == 0) GTEST_SKIP() << "not differentiable";
  struct Context {
    const Case* one;
    std::vector<mt_tensor*> all;  // the floating ones are replaced by the check's
    std::vector<size_t> floating;
  } context{&GetParam(), {}, {}};
  auto function = [](void* user, mt_tensor* const* in, size_t n, mt_tensor** results, size_t) {
    auto& context = *static_cast<Context*>(user);
    std::vector<mt_tensor*> all = context.all;
    for (size_t i = 0; i < n; ++i) all[context.floating[i]] = in[i];
    results[0] = context.one->call(all.data());
    return mt_error();
  };
  MT_SCOPE {
    context.all = GetParam().make_inputs(MT_F64, tested());
    std::vector<mt_tensor*> checked;
    for (size_t i = 0; i < context.all.size(); ++i) {
      if (GetParam().inputs[i].kind != Kind::floating) continue;
      context.floating.push_back(i);
      checked.push_back(context.all[i]);
    }
    mt_gradient_check_options options = MT_GRADIENT_CHECK_OPTIONS_INIT;
    options.order = GetParam().order;
    EXPECT_EQ(mt_gradient_check(function, &context, checked.data(), checked.size(), &options),
              MT_OK)
        << mt_error_message();
    mt_clear();
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryOperator, testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace every_operator

// With --operators, only the names of what is tested, for the check that nothing is missing.
int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--operators") == 0) {
    for (const auto& one : every_operator::cases()) std::cout << one.name << "\n";
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
