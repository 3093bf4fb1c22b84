// SPDX-License-Identifier: Apache-2.0
// An operator on few elements that is asked for alone runs without a plan: the same bits as with
// one, and nothing else that is pending is touched.
#include <gtest/gtest.h>

#include "fusion/support.h"

namespace mt::testing {
namespace {

struct Operation {
  const char* name;
  Tensor (*apply)(const Tensor& x, const Tensor& number);
};
const Operation operations[] = {
    {"number last", [](const Tensor& x, const Tensor& number) { return sub(x, number); }},
    {"number first", [](const Tensor& x, const Tensor& number) { return sub(number, x); }},
    {"divided by a number", [](const Tensor& x, const Tensor& number) { return div(x, number); }},
    {"alike", [](const Tensor& x, const Tensor&) { return mul(x, x); }},
    {"transposed", [](const Tensor& x, const Tensor&) { return mul(transpose(x), x); }},
};

class Small : public ::testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override {
    install_fusing_evaluator();
    x_ = computed(cast(random_leaf({2, 2}) * 9.0, GetParam()));
  }

  static Tensor computed(const Tensor& x) {
    evaluate(x);
    return x;
  }

  Tensor x_;
};

// Two results asked for together take a plan; one takes none.
TEST_P(Small, GivesTheBitsOfAPlan) {
  for (const Operation& operation : operations) {
    SCOPED_TRACE(operation.name);
    for (const Tensor& number :
         {integer_number(3, x_.device()), cast(integer_number(3, x_.device()), GetParam()),
          computed(full_integer({1, 1}, 3, GetParam(), x_.device()))}) {
      std::vector<Value> planned = evaluated({operation.apply(x_, number), add(x_, x_)});
      EXPECT_EQ(value_of(operation.apply(x_, number)), planned[0]);
    }
  }
}

TEST_P(Small, LeavesWhatIsPendingAlone) {
  Tensor other = exp(cast(x_, Dtype::float32)), three = integer_number(3, x_.device());
  Tensor sum = add(x_, three);
  evaluate(sum);
  EXPECT_TRUE(sum->ready());
  EXPECT_FALSE(other->ready());
  Tensor read = add(sum, x_), reader = mul(read, x_);
  std::vector<Value> expected = evaluated({add(sum, x_), mul(add(sum, x_), x_)});
  EXPECT_EQ(value_of(read), expected[0]);  // which something that is pending reads
  EXPECT_EQ(value_of(reader), expected[1]);
}

TEST_P(Small, KeepsWhatItComputesASecondTime) {
  Tensor held = add(x_, x_), unasked = mul(x_, x_), large = expand(x_, {20, 2, 2});
  Tensor held_large = add(large, large);
  for (bool again : {false, true}) {
    evaluated({mul(held, x_), mul(held_large, held_large)});
    EXPECT_EQ(held->ready(), again);
  }
  EXPECT_FALSE(unasked->ready());
  EXPECT_FALSE(held_large->ready());  // a recipe is shorter
}

INSTANTIATE_TEST_SUITE_P(Types, Small,
                         ::testing::Values(Dtype::float32, Dtype::float64, Dtype::int32,
                                           Dtype::int64, Dtype::int8, Dtype::bfloat16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace mt::testing
