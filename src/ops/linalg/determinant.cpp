// SPDX-License-Identifier: Apache-2.0
// Determinants, from the pivots of P a = L U. Their gradient is the cofactors, which a singular
// matrix has too.
#include "graph/modes.h"
#include "ops/history.h"
#include "ops/linalg/lu.h"

namespace mt {
namespace {

// parts: the determinant. inputs: the factors, the sign, what LU is missing, the permutation, and
// a; the last three are not read
MatrixSizes det_sizes(int64_t, int64_t, int64_t, const Attributes&) { return {{1}}; }

int64_t det_function(const Matrices<double>& of) {
  double product = *of.in[1];
  for (int64_t i = 0; i < of.n; ++i) product *= of.in[0][i * of.n + i];
  *of.out[0] = product;
  return 0;
}

// parts: the cofactors of a singular matrix; 0 for another. inputs: a; what LU is missing
MatrixSizes cofactors_sizes(int64_t n, int64_t, int64_t, const Attributes&) {
  return {{n * n}, 4 * n};
}

// With rows and columns exchanged for the largest pivots, P a Q = L U, the last pivot alone is 0
// where the rank is n - 1. There the cofactors are the other pivots' product times P^T z x^T Q^T,
// where L^T z is the last unit vector and U x = 0; with less rank there are none.
int64_t cofactors_function(const Matrices<double>& of) {
  const int64_t n = of.n;
  double *a = of.in[0], *result = of.out[0], product = 1;
  double *z = of.work, *x = z + n, *rows = x + n, *columns = rows + n;
  std::fill(result, result + n * n, 0.0);
  if (*of.in[1] == 0) return 0;
  for (int64_t i = 0; i < n; ++i) rows[i] = columns[i] = static_cast<double>(i);
  for (int64_t j = 0; j + 1 < n; ++j) {
    int64_t down = j, across = j;
    for (int64_t i = j; i < n; ++i) {
      for (int64_t c = j; c < n; ++c) {
        if (std::fabs(a[i * n + c]) > std::fabs(a[down * n + across])) down = i, across = c;
      }
    }
    if (down != j) {
      std::swap_ranges(a + j * n, a + (j + 1) * n, a + down * n);
      std::swap(rows[j], rows[down]);
      product = -product;
    }
    if (across != j) {
      for (int64_t i = 0; i < n; ++i) std::swap(a[i * n + j], a[i * n + across]);
      std::swap(columns[j], columns[across]);
      product = -product;
    }
    const double pivot = a[j * n + j];
    if (pivot == 0) return 0;
    product *= pivot;
    for (int64_t i = j + 1; i < n; ++i) {
      const double factor = a[i * n + j] /= pivot;
      for (int64_t c = j + 1; c < n; ++c) a[i * n + c] -= factor * a[j * n + c];
    }
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    z[i] = x[i] = i + 1 == n;
    for (int64_t c = i + 1; c < n; ++c) {
      z[i] -= a[c * n + i] * z[c];
      x[i] -= a[i * n + c] * x[c];
    }
    if (i + 1 < n) x[i] /= a[i * n + i];
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = 0; c < n; ++c) {
      result[static_cast<int64_t>(rows[i]) * n + static_cast<int64_t>(columns[c])] =
          product * z[i] * x[c];
    }
  }
  return 0;
}

// Of order 2 and more a singular matrix has derivatives too, which this does not know.
void cofactors_gradient(const Node& node, const Tensor&, Tensor* gradients) {
  const Tensor &a = node.inputs[0], &missing = node.inputs[1];
  Tensor zero = number(0, a.device());
  Tensor unknown = number(std::numeric_limits<double>::quiet_NaN(), a.device());
  gradients[0] = expand(cast(where(not_equal(missing, zero), unknown, zero), a.dtype()), a.shape());
}
const MatrixOp cofactors_op =
    matrix_op("cofactors", cofactors_gradient, 2, cofactors_sizes, cofactors_function);

// The same for any matrix and as determinants of what is left without one row and one column, so
// that gradients of any order are right where matrices are singular.
Tensor minors(const Tensor& a) {
  if (a.size() == 0) return a;
  const int64_t n = rows_of(a), batch = element_count(leading(a));
  Tensor place = iota({n}, Dtype::int64, a.device()), left_out = reshape(place, {n, 1});
  Tensor kept = slice(place, 0, 0, n - 1, 1);
  kept = reshape(kept + cast(greater_equal(kept, left_out), Dtype::int64), {n * (n - 1)});
  Tensor some = index_select(index_select(reshape(a, {batch, n, n}), kept, 1), kept, 2);
  some = permute(reshape(some, {batch, n, n - 1, n, n - 1}), {0, 1, 3, 2, 4});
  Tensor odd = remainder(place + left_out, integer_number(2, a.device()));
  return reshape(det(some) * cast(odd * -2.0 + 1.0, a.dtype()), a.shape());
}

// More rows than these have too many minors.
constexpr int64_t most_minors = 8;

// The cofactors: det(a) a^-T where that can be.
void det_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor &factors = node.inputs[0], &missing = node.inputs[2], &a = node.inputs[4];
  if (keeps_history() && rows_of(a) <= most_minors) {
    gradients[4] = dy * minors(a);
    return;
  }
  Tensor inverse = lu_solve(factors, node.inputs[3], identity_like(a), a, true);
  Tensor singular = record(cofactors_op, a.dtype(), a.shape(), {a, missing});
  Tensor is_singular = not_equal(missing, number(0, a.device()));
  gradients[4] = dy * where(is_singular, singular, this_value(node) * inverse);
}
const MatrixOp det_op = matrix_op("det", det_gradient, 2, det_sizes, det_function);

}  // namespace

Slogdet slogdet(const Tensor& x) {
  Tensor a = matrix_operand(x, "slogdet", true);
  Lu lu = lu_of(a);
  Tensor pivots = matrix_diagonal(lu.factors, 0);
  Tensor signs = prod(sign(pivots), {-1}) * detach(reshape(lu.sign, leading(a)));
  return {cast(signs, x.dtype()), cast(sum(log(abs(pivots)), {-1}), x.dtype())};
}

Tensor det(const Tensor& x) {
  Tensor a = matrix_operand(x, "det", true);
  Shape lead = leading(a), one = with_matrix(lead, 1, 1);
  Lu lu = [&] {
    GradientMode none(false);  // the gradient goes through a
    return lu_of(a);
  }();
  Tensor product =
      record(det_op, a.dtype(), one,
             {lu.factors, reshape(lu.sign, one), reshape(lu.missing, one), lu.permutation, a});
  return cast(reshape(product, lead), x.dtype());
}

}  // namespace mt
