// SPDX-License-Identifier: Apache-2.0
// A contraction that is evaluated alone a second time takes the plan of the first, and gives what
// it gives among others; only one that differs in nothing a plan depends on does.
#include "fusion/single_contraction.h"

#include <gtest/gtest.h>

#include "backends/cpu/parallel/parallel.h"
#include "base/allocator.h"
#include "base/error.h"
#include "fusion/support.h"

namespace mt::testing {
namespace {

TEST(SingleContraction, KeysTellPlansApart) {
  install_fusing_evaluator();
  Tensor a = random_leaf({6, 6}, 1), b = random_leaf({6, 6}, 2), thin = random_leaf({6, 5}, 3);
  const ContractionKey key(*matmul(a, b).node());
  auto is_key_of = [&](const Tensor& tensor) {
    EXPECT_TRUE(is_single_contraction(*tensor.node()));
    return key.is_of(*tensor.node());
  };
  EXPECT_TRUE(is_key_of(matmul(b, a)));
  EXPECT_FALSE(is_key_of(matmul(transpose(a), b)));
  EXPECT_FALSE(is_key_of(matmul(a, thin)));
  EXPECT_FALSE(is_key_of(contract(a, b, 1, 0, 0, 1)));
  Tensor wide_a = cast(a, Dtype::float64), wide_b = cast(b, Dtype::float64);
  evaluated({wide_a, wide_b});
  EXPECT_FALSE(is_key_of(matmul(wide_a, wide_b)));
  const int threads = cpu::thread_count();
  cpu::set_thread_count(threads + 1);
  EXPECT_FALSE(is_key_of(matmul(a, b)));
  cpu::set_thread_count(0);
  EXPECT_FALSE(ContractionKey().is_of(*matmul(a, b).node()));
}

TEST(SingleContraction, OthersAreNone) {
  install_fusing_evaluator();
  Tensor a = random_leaf({6, 6}), pending = exp(a);
  EXPECT_FALSE(is_single_contraction(*pending.node()));
  EXPECT_FALSE(is_single_contraction(*matmul(pending, a).node()));  // something else to compute
  EXPECT_FALSE(is_single_contraction(*contract(a, a, 0, 1, 1, 1).node()));  // one buffer, not two
}

TEST(SingleContraction, TheSameBitsAsAmongOthers) {
  install_fusing_evaluator();
  for (int64_t n : {1, 7, 40, 130}) {
    Tensor a = random_leaf({n, 33}, 1), b = random_leaf({33, 9}, 2), c = random_leaf({n, 9}, 3);
    std::vector<Value> among = evaluated({matmul(a, b), exp(c)});
    for (int i = 0; i < 3; ++i) {
      Tensor alone = matmul(a, b);
      evaluate(alone);
      EXPECT_EQ(difference({among[0]}, {value_of(alone)}), "") << n;
      // The key is the same, the values are others.
      Tensor other = matmul(add(a, a), b), doubled = matmul(a, add(b, b));
      EXPECT_EQ(difference({value_of(other)}, {value_of(doubled)}), "") << n;
    }
  }
}

TEST(SingleContraction, IsFoundBesideWhatStaysPending) {
  install_fusing_evaluator();
  Tensor a = random_leaf({6, 11}, 1), b = random_leaf({11, 5}, 2), held = exp(a);
  evaluate(matmul(a, b));
  EXPECT_FALSE(held->ready());
  Tensor again = matmul(a, b), beside = matmul(transpose(b), transpose(a));
  EXPECT_NE(ContractionPlans::of_thread().find(*again.node()), nullptr);
  evaluate(beside);  // with what is dear and held
  EXPECT_TRUE(again->ready());
  EXPECT_EQ(ContractionPlans::of_thread().find(*matmul(transpose(b), transpose(a)).node()),
            nullptr);
}

TEST(SingleContraction, OutOfMemoryLeavesItPending) {
  install_fusing_evaluator();
  Tensor a = random_leaf({40, 33}, 1), b = random_leaf({33, 30}, 2);
  Value expected = value_of(matmul(a, b));
  Tensor again = matmul(a, b);
  fail_allocation_after(0);
  EXPECT_THROW(evaluate(again), Error);
  fail_allocation_after(-1);
  EXPECT_FALSE(again->ready());
  EXPECT_EQ(difference({expected}, {value_of(again)}), "");
}

}  // namespace
}  // namespace mt::testing
