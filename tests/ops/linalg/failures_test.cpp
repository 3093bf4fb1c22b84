// SPDX-License-Identifier: Apache-2.0
// Matrices that have no solution or decomposition, and what cannot be asked for.
#include <cmath>

#include "base/error.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

class Failures : public ::testing::TestWithParam<const char*> {
 protected:
  Tensor of(const Shape& shape, const std::vector<double>& numbers) const {
    Device& device = GetParam() == std::string("cpu") ? cpu() : reference();
    return make(shape, numbers, Dtype::float32, device);
  }
  Tensor zeros(const Shape& shape) const {
    return of(shape, std::vector<double>(static_cast<size_t>(element_count(shape))));
  }
};
INSTANTIATE_TEST_SUITE_P(Linalg, Failures, ::testing::Values("cpu", "reference"));

TEST_P(Failures, NameTheMatrix) {
  Tensor pair = of({2, 2, 2}, {1, 0, 0, 1, 1, 2, 2, 4});
  Tensor grid = reshape(pair, {2, 1, 2, 2});
  EXPECT_EQ(message_of([&] { inverse(pair); }),
            "inv: matrix [1] of [2,2,2] is singular: elimination finds no pivot in column 2");
  EXPECT_EQ(message_of([&] {
              solve(grid, of({2}, {1, 1}));
            }),
            "solve: matrix [1,0] of [2,1,2,2] is singular: elimination finds no pivot in column 2");
  EXPECT_EQ(message_of([&] {
              inverse(zeros({3, 3}));
            }),
            "inv: [3,3] is singular: elimination finds no pivot in column 1");
  EXPECT_EQ(
      message_of([&] {
        cholesky(of({2, 2}, {1, 0, 2, 1}), false);
      }),
      "cholesky: [2,2] is not positive definite: its leading minor of order 2 is not positive");
  EXPECT_EQ(code_of([&] { inverse(pair); }), Code::invalid);
  EXPECT_EQ(code_of([&] { matrix_power(pair, -1); }), Code::invalid);
  // Neither what came before nor what comes after is touched.
  expect_near(pair * 2, {2, 0, 0, 2, 2, 4, 4, 8});
}

TEST_P(Failures, NotFinite) {
  for (double bad : {std::nan(""), double{INFINITY}}) {
    Tensor x = of({2, 2, 2}, {1, 0, 0, 1, 1, bad, bad, 4});
    for (const char* name : {"eigh", "eigvalsh", "svd", "svdvals"}) {
      std::string message = message_of([&] {
        if (std::string(name) == "eigh") eigh(x);
        if (std::string(name) == "eigvalsh") eigvalsh(x);
        if (std::string(name) == "svd") svd(x, true);
        if (std::string(name) == "svdvals") svdvals(x);
      });
      EXPECT_EQ(message, std::string(name) + ": matrix [1] of [2,2,2] holds a NaN or an infinity");
    }
  }
  // A NaN above the diagonal is not read.
  expect_near(eigvalsh(of({2, 2}, {1, NAN, 0, 4})), {1, 4}, 1e-6);
  EXPECT_NE(message_of([&] { cholesky(of({1, 1}, {NAN}), false); }), "");
  EXPECT_TRUE(std::isnan(read(det(of({2, 2}, {1, NAN, 0, 4})))[0]));
}

TEST_P(Failures, ShapesAndTypes) {
  EXPECT_EQ(message_of([&] { inverse(zeros({2, 3})); }), "inv: [2,3] is not square");
  EXPECT_EQ(message_of([&] { det(zeros({3})); }), "det: [3] is no matrix");
  EXPECT_EQ(message_of([&] { qr(zeros({3}), false); }), "qr: [3] is no matrix");
  EXPECT_EQ(message_of([&] {
              cholesky(zeros({4, 2, 3}), false);
            }),
            "cholesky: [4,2,3] is not square");
  EXPECT_EQ(message_of([&] {
              solve(zeros({3, 3}), zeros({2, 3, 1, 1}));
            }),
            "solve: [3,3] and [2,3,1,1]: the numbers of rows differ");
  EXPECT_EQ(message_of([&] {
              solve_triangular(zeros({3, 3}), zeros({2, 2}), true);
            }),
            "solve_triangular: [3,3] and [2,2]: the numbers of rows differ");
  EXPECT_EQ(message_of([&] {
              matrix_power(zeros({2, 3}), 2);
            }),
            "matrix_power: [2,3] is not square");
  EXPECT_EQ(message_of([&] {
              matrix_norm(zeros({2, 3}), "-", false);
            }),
            "matrix_norm: \"-\" is none of fro, nuc, 1, -1, 2, -2, inf, -inf");
  Tensor whole = cast(zeros({2, 2}), Dtype::int32);
  EXPECT_EQ(message_of([&] { inverse(whole); }), "inv: needs floats, got int32");
  EXPECT_EQ(code_of([&] { svd(whole, false); }), Code::dtype);
  EXPECT_EQ(code_of([&] { pinv(zeros({2, 2}), zeros({3})); }), Code::shape);
}

}  // namespace
}  // namespace mt::testing
