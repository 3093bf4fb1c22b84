// SPDX-License-Identifier: Apache-2.0
#include "autodiff/backward.h"
#include "backends/cpu/parallel/parallel.h"
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

// With fewer threads than rows these are gone through with what else is done with them, with more
// panel by panel.
TEST(Reduce, RowsLongerThanAPanel) {
  const Shape shape{2, 120000};
  for (Dtype dtype : every_dtype) {
    SCOPED_TRACE(name_of(dtype));
    everywhere([&](const Make& given) {
      Tensor x = given(shape, scattered(240000, 100), dtype);
      Tensor y = given(shape, special(240000), dtype);
      std::vector<Tensor> results;
      for (const Tensor& of : {sum(x, {1}), max(x, {1}), min(y, {1}), max(y, {1}), sum(y, {1})}) {
        results.push_back(cast(of, Dtype::float64));
      }
      return stack(results, 0);
    });
  }
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    auto sums = [&](int threads) {
      cpu::set_thread_count(threads);
      Numbers numbers = read(sum(noise(shape, 1, dtype), {1}));
      cpu::set_thread_count(0);
      return numbers;
    };
    EXPECT_EQ(sums(1), sums(3));
  }
  Function soft = [](const std::vector<Tensor>& t) { return softmax(t[0], 1); };
  Function log_soft = [](const std::vector<Tensor>& t) { return log_softmax(t[0], 1); };
  Function norm = [](const std::vector<Tensor>& t) {
    return layer_norm(t[0], 1, t[1], t[2], 1e-5);
  };
  Function root = [](const std::vector<Tensor>& t) { return rms_norm(t[0], 1, t[1], 1e-5); };
  Function loss = [](const std::vector<Tensor>& t) {
    Tensor targets = make({4}, {0, 16384, 59999, 7}, Dtype::int64, t[0].device());
    return cross_entropy(t[0], targets, 1, LossReduction::none);
  };
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16}) {
    SCOPED_TRACE(name_of(dtype));
    const double tolerance = dtype == Dtype::bfloat16 ? 2e-2 : 1e-5;
    for (const Function& f : {soft, log_soft, loss})
      check_devices(f, {{4, 60000}}, dtype, tolerance);
    check_devices(norm, {{4, 60000}, {60000}, {60000}}, dtype, tolerance);
    check_devices(root, {{4, 60000}, {60000}}, dtype, tolerance);
  }
}

}  // namespace
}  // namespace mt::testing
