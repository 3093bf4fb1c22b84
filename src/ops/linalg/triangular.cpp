// SPDX-License-Identifier: Apache-2.0
// Systems of equations with a triangular matrix.
#include "base/error.h"
#include "ops/linalg/matrices.h"

namespace mt {
namespace {

constexpr char name[] = "solve_triangular";

// parts: x. attributes: upper, unit diagonal
MatrixSizes triangular_sizes(int64_t, int64_t n, int64_t k, const Attributes&) { return {{n * k}}; }

int64_t triangular_function(const Matrices<double>& of) {
  const int64_t n = of.n, k = of.k;
  const bool upper = of.how[0], unit = of.how[1];
  const double *a = of.in[0], *b = of.in[1];
  double* x = of.out[0];
  std::copy(b, b + n * k, x);
  for (int64_t step = 0; step < n; ++step) {
    int64_t i = upper ? n - 1 - step : step;
    for (int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) {
      for (int64_t c = 0; c < k; ++c) x[i * k + c] -= a[i * n + j] * x[j * k + c];
    }
    for (int64_t c = 0; c < k && !unit; ++c) x[i * k + c] /= a[i * n + i];
  }
  return 0;
}

Tensor record_triangular(const Tensor& a, const Tensor& b, bool upper, bool unit);

// db = a^-T dx, and da = -db x^T within the triangle.
void triangular_gradient(const Node& node, const Tensor& dx, Tensor* gradients) {
  bool upper = node.attributes[0], unit = node.attributes[1];
  Tensor db = record_triangular(transpose(node.inputs[0]), dx, !upper, unit);
  Tensor da = matmul(db, transpose(this_value(node)));
  gradients[0] = -(upper ? triu(da, unit) : tril(da, -int64_t{unit}));
  gradients[1] = db;
}
const MatrixOp triangular_op =
    matrix_op(name, triangular_gradient, 2, triangular_sizes, triangular_function);

Tensor record_triangular(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  return record(triangular_op, a.dtype(), b.shape(), {a, b}, {upper, unit});
}

}  // namespace

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  Tensor left = matrix_operand(a, name, true), right = matrix_operand(b, name, false);
  Dtype dtype = promote(a.dtype(), b.dtype(), name), sum = accumulator_of(dtype);
  if (rows_of(a) != rows_of(b)) {
    fail(Code::shape, "%s: %s and %s: the numbers of rows differ", name,
         to_string(a.shape()).c_str(), to_string(b.shape()).c_str());
  }
  Shape lead = broadcast(leading(a), leading(b), name);
  left = expand(cast(left, sum), with_matrix(lead, rows_of(a), rows_of(a)));
  right = expand(cast(right, sum), with_matrix(lead, rows_of(b), columns_of(b)));
  return cast(record_triangular(left, right, upper, unit), dtype);
}

}  // namespace mt
