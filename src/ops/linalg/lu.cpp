// SPDX-License-Identifier: Apache-2.0
#include "ops/linalg/lu.h"

#include "base/error.h"
#include "graph/modes.h"

namespace mt {
namespace {

// parts: L and U in one matrix, L without its diagonal of ones; the permutation, by which row i of
// P a is row p[i] of a; its sign; the first step that found no pivot, or 0
MatrixSizes lu_sizes(int64_t n, int64_t, int64_t, const Attributes&) { return {{n * n, n, 1, 1}}; }

int64_t lu_function(const Matrices<double>& of) {
  const int64_t n = of.n;
  double *lu = of.out[0], *p = of.out[1], *sign = of.out[2], *missing = of.out[3];
  std::copy(of.in[0], of.in[0] + n * n, lu);
  for (int64_t i = 0; i < n; ++i) p[i] = static_cast<double>(i);
  *sign = 1;
  *missing = 0;
  for (int64_t j = 0; j < n; ++j) {
    int64_t best = j;
    for (int64_t i = j + 1; i < n; ++i) {
      if (std::fabs(lu[i * n + j]) > std::fabs(lu[best * n + j])) best = i;
    }
    if (best != j) {
      std::swap_ranges(lu + j * n, lu + (j + 1) * n, lu + best * n);
      std::swap(p[j], p[best]);
      *sign = -*sign;
    }
    double pivot = lu[j * n + j];
    if (pivot == 0) {
      if (*missing == 0) *missing = static_cast<double>(j + 1);
      continue;
    }
    for (int64_t i = j + 1; i < n; ++i) {
      double factor = lu[i * n + j] /= pivot;
      for (int64_t c = j + 1; c < n; ++c) lu[i * n + c] -= factor * lu[j * n + c];
    }
  }
  return 0;
}

// da = P^T L^-T (the lower triangle of L^T dL, and the upper one of dU U^T) U^-T.
void lu_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  const Tensor& a = node.inputs[0];
  Lu lu(this_value(node), a), given(arrived, a);
  Tensor factors = transpose(lu.factors), one = identity_like(a);
  Tensor of_l = matmul(triu(factors, 1) + one, tril(given.factors, -1));
  Tensor of_u = matmul(triu(given.factors, 0), tril(factors, 0));
  Tensor inner = solve_triangular(factors, tril(of_l, -1) + triu(of_u, 0), true, true);
  Tensor da = transpose(solve_triangular(lu.factors, transpose(inner), true));
  Tensor back = argsort(lu.permutation, -2, false);
  gradients[0] = take_along_axis(da, expand(back, a.shape()), -2);
}
const MatrixOp lu_op = matrix_op("lu", lu_gradient, 1, lu_sizes, lu_function);

}  // namespace

Lu lu_of(const Tensor& a) {
  MatrixSizes sizes = lu_sizes(rows_of(a), 0, 0, {});
  int64_t batch = element_count(leading(a)), count = sizes.result();
  check_shape({batch, count}, size_of(a.dtype()), "lu");
  return Lu(record(lu_op, a.dtype(), {batch * count}, {a}), a);
}

namespace {

// ------------------------------------------------------------------------------------- Solutions

// parts: x. inputs: the factors, the permutation, b, and a, which is not read. attributes: whether
// a^T x = b is solved
MatrixSizes solve_sizes(int64_t n, int64_t, int64_t k, const Attributes&) {
  return {{n * k}, n * k};
}

// x = U^-1 L^-1 P b, or P^T L^-T U^-T b.
int64_t solve_function(const Matrices<double>& of) {
  const int64_t n = of.n, k = of.k;
  const bool transposed = of.how[0];
  const double *lu = of.in[0], *p = of.in[1], *b = of.in[2];
  double* y = transposed ? of.work : of.out[0];
  for (int64_t i = 0; i < n; ++i) {
    int64_t from = transposed ? i : static_cast<int64_t>(p[i]);
    std::copy(b + from * k, b + (from + 1) * k, y + i * k);
  }
  auto substitute = [&](int64_t i, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      double factor = transposed ? lu[j * n + i] : lu[i * n + j];
      for (int64_t c = 0; c < k; ++c) y[i * k + c] -= factor * y[j * k + c];
    }
  };
  auto divide = [&](int64_t i) {
    for (int64_t c = 0; c < k; ++c) y[i * k + c] /= lu[i * n + i];
  };
  for (int64_t i = 0; i < n; ++i) {
    substitute(i, 0, i);
    if (transposed) divide(i);
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    substitute(i, i + 1, n);
    if (!transposed) divide(i);
  }
  for (int64_t i = 0; transposed && i < n; ++i) {
    std::copy(y + i * k, y + (i + 1) * k, of.out[0] + static_cast<int64_t>(p[i]) * k);
  }
  return 0;
}

// With db = a^-T dx: da = -db x^T; where a^T x = b was solved, db = a^-1 dx and da = -x db^T.
void solve_gradient(const Node& node, const Tensor& dx, Tensor* gradients) {
  bool transposed = node.attributes[0];
  Tensor x = this_value(node);
  Tensor db = lu_solve(node.inputs[0], node.inputs[1], dx, node.inputs[3], !transposed);
  gradients[2] = db;
  gradients[3] = -(transposed ? matmul(x, transpose(db)) : matmul(db, transpose(x)));
}
const MatrixOp solve_op = matrix_op("lu_solve", solve_gradient, 3, solve_sizes, solve_function);

}  // namespace

Tensor lu_solve(const Tensor& factors, const Tensor& permutation, const Tensor& b, const Tensor& a,
                bool transposed) {
  return record(solve_op, a.dtype(), b.shape(), {factors, permutation, b, a}, {transposed});
}

namespace {

// a^-1 b, for an a and a b of the types and leading sizes of the result.
Tensor solved(const Tensor& a, const Tensor& b, const Shape& lead, const char* name) {
  int64_t n = rows_of(a);
  Shape square = with_matrix(lead, n, n);
  Lu lu = [&] {
    GradientMode none(false);  // the gradient goes through a
    return lu_of(a);
  }();
  check_matrices(lu.missing, a, name, "is singular: elimination finds no pivot in column %lld");
  return lu_solve(expand(lu.factors, square), expand(lu.permutation, with_matrix(lead, n, 1)),
                  expand(b, with_matrix(lead, n, columns_of(b))), expand(a, square), false);
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b) {
  const char* name = "solve";
  Tensor left = matrix_operand(a, name, true);
  bool vector = b.rank() == 1;
  Tensor right = matrix_operand(vector ? unsqueeze(b, 1) : b, name, false);
  if (rows_of(left) != rows_of(right)) {
    fail(Code::shape, "%s: %s and %s: the numbers of rows differ", name,
         to_string(a.shape()).c_str(), to_string(b.shape()).c_str());
  }
  Dtype dtype = promote(a.dtype(), b.dtype(), name), sum = accumulator_of(dtype);
  Shape lead = broadcast(leading(left), leading(right), name);
  Tensor x = solved(cast(left, sum), cast(right, sum), lead, name);
  return cast(vector ? squeeze(x, {-1}) : x, dtype);
}

Tensor inverse(const Tensor& x) {
  Tensor a = matrix_operand(x, "inv", true);
  return cast(solved(a, identity_like(a), leading(a), "inv"), x.dtype());
}

}  // namespace mt
