// SPDX-License-Identifier: Apache-2.0
// a = Q R with orthonormal columns in Q, by Householder's reflections.
#include "base/error.h"
#include "ops/linalg/matrices.h"

namespace mt {
namespace {

// parts: Q, R. attributes: complete
MatrixSizes qr_sizes(int64_t m, int64_t n, int64_t, const Attributes& how) {
  int64_t q = columns_of_q(m, n, how);
  return {{m * q, q * n}, std::min(m, n)};
}

// The reflection that takes a column to a multiple of the first unit vector is I - t v v^T, v[0] =
// 1; where nothing is to be done t is 0, so the last element of R keeps its sign. v is kept below
// the diagonal of `a`, t in `work`.
int64_t qr_function(const Matrices<double>& of) {
  const int64_t m = of.m, n = of.n, steps = std::min(m, n), q = columns_of_q(m, n, of.how);
  double *a = of.in[0], *t = of.work, *out = of.out[0], *r = of.out[1];
  auto reflect = [&](double* x, int64_t width, int64_t j, int64_t first) {
    for (int64_t c = first; c < width; ++c) {
      double sum = x[j * width + c];
      for (int64_t i = j + 1; i < m; ++i) sum += a[i * n + j] * x[i * width + c];
      sum *= t[j];
      x[j * width + c] -= sum;
      for (int64_t i = j + 1; i < m; ++i) x[i * width + c] -= sum * a[i * n + j];
    }
  };
  for (int64_t j = 0; j < steps; ++j) {
    double head = a[j * n + j], largest = 0, sum = 0;
    for (int64_t i = j + 1; i < m; ++i) largest = std::max(largest, std::fabs(a[i * n + j]));
    t[j] = 0;
    if (largest == 0) continue;
    largest = std::max(largest, std::fabs(head));
    for (int64_t i = j; i < m; ++i) sum += a[i * n + j] / largest * (a[i * n + j] / largest);
    double length = -std::copysign(largest * std::sqrt(sum), head);
    t[j] = (length - head) / length;
    for (int64_t i = j + 1; i < m; ++i) a[i * n + j] /= head - length;
    a[j * n + j] = length;
    reflect(a, n, j, j + 1);
  }
  for (int64_t i = 0; i < q; ++i) {
    for (int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? 0 : a[i * n + j];
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < q; ++j) out[i * q + j] = i == j;
  }
  for (int64_t j = steps - 1; j >= 0; --j) reflect(out, q, j, 0);
  return 0;
}

// Of the first columns, as many as rows, for which M = R dR^T - dQ^T Q and, with the lower triangle
// of M mirrored above, da = (dQ + Q M) R^-T.
Tensor square_gradient(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  Tensor m = matmul(r, transpose(dr)) - matmul(transpose(dq), q);
  m = tril(m, 0) + transpose(tril(m, -1));
  return transpose(solve_triangular(r, transpose(dq + matmul(q, m)), true));
}

// R = [U, V], where U is square and the columns of V come from those of a by Q^T.
void qr_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  const Tensor& a = node.inputs[0];
  int64_t m = rows_of(a), n = columns_of(a), k = columns_of_q(m, n, node.attributes);
  if (k > n) {
    fail(Code::no_gradient,
         "qr: the complete factors of %s, which has more rows than columns, have no gradient",
         to_string(a.shape()).c_str());
  }
  Shape q_shape = with_matrix(leading(a), m, k), r_shape = with_matrix(leading(a), k, n);
  int64_t at = 0, again = 0;
  Tensor all = this_value(node);
  Tensor q = take_part(all, &at, q_shape), r = take_part(all, &at, r_shape);
  Tensor dq = take_part(arrived, &again, q_shape), dr = take_part(arrived, &again, r_shape);
  if (n == k) {
    gradients[0] = square_gradient(q, r, dq, dr);
    return;
  }
  auto columns = [&](const Tensor& x, int64_t first, int64_t count) {
    return slice(x, x.rank() - 1, first, count, 1);
  };
  Tensor dv = columns(dr, k, n - k), rest = columns(a, k, n - k);
  Tensor left =
      square_gradient(q, columns(r, 0, k), dq + matmul(rest, transpose(dv)), columns(dr, 0, k));
  gradients[0] = concat({left, matmul(q, dv)}, -1);
}
const MatrixOp qr_op = matrix_op("qr", qr_gradient, 1, qr_sizes, qr_function);

}  // namespace

Qr qr(const Tensor& x, bool complete) {
  Tensor a = matrix_operand(x, "qr", false);
  int64_t m = rows_of(a), n = columns_of(a), k = columns_of_q(m, n, {complete}), first = 0;
  Tensor all = record_parts(qr_op, a, {complete});
  Tensor q = take_part(all, &first, with_matrix(leading(a), m, k));
  Tensor r = take_part(all, &first, with_matrix(leading(a), k, n));
  return {cast(q, x.dtype()), cast(r, x.dtype())};
}

}  // namespace mt
