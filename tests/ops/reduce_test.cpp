// SPDX-License-Identifier: Apache-2.0
#include "autodiff/backward.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

// Of [rows, n], where a row has as many zeros as its number.
Tensor with_zeros(int64_t rows, int64_t n) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      numbers.push_back(j < i ? 0 : static_cast<double>(j + 2) / static_cast<double>(i + 1));
    }
  }
  return make({rows, n}, numbers);
}

TEST(Reduce, ProductsHaveDerivativesAtZeros) {
  Tensor x = with_zeros(4, 4);
  for (const Dims& axes : {Dims{1}, Dims{0}, Dims{0, 1}}) {
    check_gradients([&](const std::vector<Tensor>& in) { return prod(in[0], axes); }, {x}, 2);
    check_gradients([&](const std::vector<Tensor>& in) { return prod(in[0], axes, true); },
                    {reshape(x, {4, 4})}, 2);
  }
  Function inner = [](const std::vector<Tensor>& in) { return prod(in[0], {0, 2}); };
  check_gradients(inner, {reshape(with_zeros(3, 4), {2, 3, 2})}, 2);
  check_gradients(inner, {reshape(make({0}, {}), {2, 3, 0})}, 2);
  check_devices(inner, {{3, 4, 5}});
}

// The third derivative of a b c d by all but one of them is the other.
TEST(Reduce, ProductsHaveThirdDerivativesAtZeros) {
  Tensor x = leaf(make({4}, {0, 0, 0, 7}));
  Tensor y = prod(x, {});
  for (int i = 0; i < 3; ++i) {
    Tensor all = gradients({y}, {ones_like(y)}, {x})[0];
    y = select(all, 0, i);
  }
  EXPECT_EQ(read(y), std::vector<double>{7});
}

TEST(Reduce, ProductsOfHalves) {
  Tensor x = leaf(make({3}, {0, 3, 5}, Dtype::float16));
  Tensor y = prod(x, {});
  Tensor slope = gradients({y}, {ones_like(y)}, {x})[0];
  EXPECT_EQ(slope.dtype(), Dtype::float16);
  EXPECT_EQ(read(slope), (std::vector<double>{15, 0, 0}));
  Tensor curve = gradients({slope}, {make({3}, {0, 1, 0}, Dtype::float16)}, {x})[0];
  EXPECT_EQ(read(curve), (std::vector<double>{5, 0, 0}));
}

}  // namespace
}  // namespace mt::testing
