// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient at sizes that cross blocks, panels and slices, on the CUDA device and
// on the CPU: the same bits, as both keep the order of src/ops/order.h.
#include <gtest/gtest.h>

#include "autodiff/backward.h"
#include "backends/backend.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "graph/evaluate.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

class CudaAttention : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }

  Tensor numbers(const Shape& shape, Dtype dtype, Device& device, uint64_t seed) {
    Graph tame;
    return source_value(tame, {shape, dtype, seed, false}, 0, device);
  }

  static Tensor leaf(const Tensor& x) {
    Tensor result = detach(x);
    evaluate(result);
    result->requires_gradient = true;
    result->variable = Ref<Variable>(new Variable);
    return result;
  }

  // f(device) is query, key, value and perhaps a mask.
  template <class F>
  void expect_the_same(F&& f, const Attention& how) {
    auto run = [&](const char* name) {
      std::vector<Tensor> x = f(find_device(name));
      std::vector<Tensor> leaves{leaf(x[0]), leaf(x[1]), leaf(x[2])};
      Tensor y = attention(leaves[0], leaves[1], leaves[2], x.size() > 3 ? x[3] : Tensor(), how);
      std::vector<Tensor> results = gradients({sum(square(cast(y, Dtype::float64)), {}, false)}, {}, leaves);
      results.push_back(y);
      return values_of(results);
    };
    EXPECT_EQ(difference(run("cuda:0"), run("cpu")), "");
  }
};

TEST_F(CudaAttention, CrossesBlocksAndPanels) {
  for (bool causal : {false, true}) {
    expect_the_same(
        [&](Device& d) {
          return std::vector<Tensor>{numbers({2, 70, 20}, Dtype::float32, d, 1),
                                     numbers({2, 150, 20}, Dtype::float32, d, 2),
                                     numbers({2, 150, 24}, Dtype::float32, d, 3)};
        },
        {causal});
  }
}

TEST_F(CudaAttention, HasManyColumns) {
  expect_the_same(
      [&](Device& d) {
        return std::vector<Tensor>{numbers({66, 3}, Dtype::float64, d, 1),
                                   numbers({65, 3}, Dtype::float64, d, 2),
                                   numbers({65, 140}, Dtype::float64, d, 3)};
      },
      {false, 0.3});
}

TEST_F(CudaAttention, TakesMasksAndHeads) {
  // Heads lie between the rows, as a transformer has them, and share their keys' mask.
  auto heads = [&](Dtype dtype, Device& d, uint64_t seed) {
    return permute(numbers({2, 67, 3, 8}, dtype, d, seed), {0, 2, 1, 3});
  };
  for (bool chooses : {false, true}) {
    expect_the_same(
        [&](Device& d) {
          Tensor mask = numbers({2, 1, 67, 67}, Dtype::float32, d, 4);
          if (chooses) mask = less(mask, number(0.5, d));
          return std::vector<Tensor>{heads(Dtype::float32, d, 1), heads(Dtype::float32, d, 2),
                                     heads(Dtype::bfloat16, d, 3), mask};
        },
        {chooses});
  }
}

}  // namespace
}  // namespace mt::testing
