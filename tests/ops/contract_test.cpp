// SPDX-License-Identifier: Apache-2.0
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(Matmul, VectorsGiveWhatMatricesOfOneRowOrColumnGive) {
  struct Case {
    Shape a, b;
    const char* shape;
  };
  const Case cases[] = {
      {{4}, {4}, "[]"},          {{3, 4}, {4}, "[3]"},           {{4}, {4, 5}, "[5]"},
      {{2, 3, 4}, {4}, "[2,3]"}, {{4}, {2, 4, 5}, "[2,5]"},      {{1, 3, 4}, {4}, "[1,3]"},
      {{4}, {1, 4, 5}, "[1,5]"}, {{1, 1, 4}, {4}, "[1,1]"},      {{4}, {1, 3, 4, 1}, "[1,3,1]"},
      {{1}, {1}, "[]"},          {{2, 1, 3, 4}, {4}, "[2,1,3]"},
  };
  for (const Case& c : cases) {
    Tensor a = noise(c.a, 1), b = noise(c.b, 2);
    Function product = [](const std::vector<Tensor>& t) { return matmul(t[0], t[1]); };
    Function of_matrices = [&](const std::vector<Tensor>& t) {
      Tensor x = c.a.rank() == 1 ? unsqueeze(t[0], 0) : t[0];
      return matmul(x, c.b.rank() == 1 ? unsqueeze(t[1], 1) : t[1]);
    };
    Tensor y = product({a, b});
    EXPECT_EQ(to_string(y.shape()), c.shape);
    expect_near(y, read(of_matrices({a, b})));
    check_gradients(product, {a, b}, 2);
    check_devices(product, {c.a, c.b});
  }
  EXPECT_EQ(to_string(matmul(noise({0, 4}, 1), noise({4}, 2)).shape()), "[0]");
  expect_near(matmul(noise({2, 0}, 1), noise({0}, 2)), {0, 0});
}

}  // namespace
}  // namespace mt::testing
