// SPDX-License-Identifier: Apache-2.0
// The Cholesky factor of a symmetric positive definite matrix, a = L L^T.
#include "ops/linalg/matrices.h"

namespace mt {
namespace {

constexpr char name[] = "cholesky";

// parts: L
MatrixSizes cholesky_sizes(int64_t n, int64_t, int64_t, const Attributes&) { return {{n * n}}; }

// Column by column; fails with the order of the first minor that is not positive.
int64_t cholesky_function(const Matrices<double>& of) {
  const int64_t n = of.n;
  const double* a = of.in[0];
  double* l = of.out[0];
  std::fill(l, l + n * n, 0.0);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      double sum = a[i * n + j];
      for (int64_t c = 0; c < j; ++c) sum -= l[i * n + c] * l[j * n + c];
      if (i == j && !(sum > 0)) return j + 1;
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  }
  return 0;
}

// With P the lower triangle of L^T dL and half its diagonal, da = L^-T P L^-1, made symmetric.
void cholesky_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  const Tensor& a = node.inputs[0];
  int64_t first = 0, again = 0;
  Tensor l = take_part(this_value(node), &first, a.shape());
  Tensor dl = take_part(arrived, &again, a.shape());
  Tensor p = matmul(transpose(l), dl);
  p = (tril(p, 0) + tril(p, -1)) * 0.5;
  Tensor half = solve_triangular(transpose(l), p, true);
  Tensor da = transpose(solve_triangular(transpose(l), transpose(half), true));
  gradients[0] = (da + transpose(da)) * 0.5;
}
const MatrixOp cholesky_op =
    matrix_op(name, cholesky_gradient, 1, cholesky_sizes, cholesky_function);

}  // namespace

Tensor cholesky(const Tensor& x, bool upper) {
  Tensor a = matrix_operand(x, name, true);
  Tensor all = record_parts(cholesky_op, a);
  int64_t first = 0;
  Tensor l = take_part(all, &first, a.shape());
  check_matrices(take_part(all, &first, {element_count(leading(a))}), x, name,
                 "is not positive definite: its leading minor of order %lld is not positive");
  return cast(upper ? transpose(l) : l, x.dtype());
}

}  // namespace mt
