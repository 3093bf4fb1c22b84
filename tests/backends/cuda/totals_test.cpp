// SPDX-License-Identifier: Apache-2.0
// What rows are for and totals of their columns, in one pass over the rows: the CPU's bits, with
// values of the rows and without.
#include <gtest/gtest.h>

#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/explain.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "graph/evaluate.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

class CudaTotals : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }

  Tensor numbers(const Shape& shape, Dtype dtype, Device& device, uint64_t seed) {
    Graph tame;
    Tensor x = source_value(tame, {shape, dtype, seed, false}, 0, device);
    evaluate(x);
    return x;
  }

  // The gradient of a norm, or of an activation.
  std::vector<Tensor> norm(const Shape& shape, Dtype dtype, Device& d) {
    Tensor x = numbers(shape, dtype, d, 1), dy = numbers(shape, dtype, d, 2);
    Tensor y = x - mean(x, {1}, true), scale = sum(square(y), {1}, true);
    return {dy * scale - y, sum(dy * y, {0}), sum(dy, {0}), max(y, {0}), scale};
  }
  std::vector<Tensor> activation(const Shape& shape, Dtype dtype, Device& d) {
    Tensor x = numbers(shape, dtype, d, 1), dy = numbers(shape, dtype, d, 2);
    Tensor dx = dy * exp(x);
    return {dx, sum(dx, {0}), min(x, {0})};
  }

  // f(device)'s results, which on the CUDA device are one group.
  template <class F>
  void expect_the_same(F&& f) {
    auto run = [&](const char* name) {
      std::vector<Tensor> results = f(find_device(name));
      std::string plan = explain(results[0]);
      EXPECT_NE(plan.find("\n1 group moves"), std::string::npos) << plan;
      evaluate(results.data(), results.size());
      return values_of(results);
    };
    EXPECT_EQ(difference(run("cuda:0"), run("cpu")), "");
  }
};

TEST_F(CudaTotals, HaveTheBitsOfTheCpu) {
  // Little, which one block does, and as many panels as it takes.
  for (const Shape& shape : {Shape{300, 70}, Shape{40, 700}, Shape{16390, 20}}) {
    for (Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
      expect_the_same([&](Device& d) { return norm(shape, dtype, d); });
      expect_the_same([&](Device& d) { return activation(shape, dtype, d); });
    }
  }
}

// Fewer panels would leave most of a GPU without work.
TEST_F(CudaTotals, AreNotMadeOfFewPanels) {
  std::vector<Tensor> results = norm({2000, 20}, Dtype::float32, find_device("cuda:0"));
  EXPECT_EQ(explain(results[0]).find("\n1 group moves"), std::string::npos);
}

}  // namespace
}  // namespace mt::testing
