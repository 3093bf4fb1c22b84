// SPDX-License-Identifier: Apache-2.0
// Singular values and vectors, a = U diag(s) V^T, by Jacobi's rotations from one side (Hestenes,
// 1958).
#include "ops/linalg/matrices.h"

namespace mt {
namespace {

constexpr int most_sweeps = 60;
constexpr char no_convergence[] = "did not converge in %lld sweeps";

double dot(const double* x, const double* y, int64_t length) {
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += x[i] * y[i];
  return sum;
}

// Turns the rows of w [p, q], p <= q, until they are orthogonal, and those of z [p, p] along.
int64_t orthogonalize(double* w, double* z, int64_t p, int64_t q) {
  const double negligible = 0x1p-52 * std::sqrt(static_cast<double>(q));
  auto turn = [](double* x, double* y, double c, double s, int64_t length) {
    for (int64_t i = 0; i < length; ++i) {
      double one = x[i], other = y[i];
      x[i] = c * one - s * other;
      y[i] = s * one + c * other;
    }
  };
  bool turned = true;
  for (int sweep = 0; turned; ++sweep) {
    if (sweep == most_sweeps) return most_sweeps;
    turned = false;
    for (int64_t i = 0; i < p; ++i) {
      for (int64_t j = i + 1; j < p; ++j) {
        double *x = w + i * q, *y = w + j * q;
        double alpha = dot(x, x, q), beta = dot(y, y, q), gamma = dot(x, y, q);
        // Of a row that depends on the others each sweep leaves less; its square would underflow.
        if (alpha < 1e-280) std::fill(x, x + q, 0.0);
        if (beta < 1e-280) std::fill(y, y + q, 0.0);
        if (alpha < 1e-280 || beta < 1e-280) continue;
        if (std::fabs(gamma) <= negligible * std::sqrt(alpha) * std::sqrt(beta)) continue;
        double zeta = (beta - alpha) / (2 * gamma);
        double t = std::copysign(1.0, zeta) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
        double c = 1 / std::sqrt(1 + t * t), s = t * c;
        turn(x, y, c, s, q);
        turn(z + i * p, z + j * p, c, s, p);
        turned = true;
      }
    }
  }
  return 0;
}

// Fills the zero rows of w [count, q], whose other rows are orthonormal, so that all are.
void complete_rows(double* w, int64_t count, int64_t q) {
  for (int64_t j = 0; j < count; ++j) {
    double* row = w + j * q;
    if (std::any_of(row, row + q, [](double x) { return x != 0; })) continue;
    // The unit vector that is farthest from all rows there are.
    double least = 2;
    int64_t axis = 0;
    for (int64_t i = 0; i < q; ++i) {
      double covered = 0;
      for (int64_t r = 0; r < count; ++r) covered += w[r * q + i] * w[r * q + i];
      if (covered < least) least = covered, axis = i;
    }
    row[axis] = 1;
    for (int twice = 0; twice < 2; ++twice) {
      for (int64_t r = 0; r < count; ++r) {
        double along = r == j ? 0 : dot(row, w + r * q, q);
        for (int64_t i = 0; i < q; ++i) row[i] -= along * w[r * q + i];
      }
      double length = std::sqrt(dot(row, row, q));
      for (int64_t i = 0; i < q; ++i) row[i] /= length;
    }
  }
}

// Singular values, descending, of a [m, n]. w gets, as rows, the `count` vectors of the longer
// side, of which there are more than values if all are wanted, z those of the shorter one.
int64_t jacobi(const double* a, int64_t m, int64_t n, double* s, double* w, double* z,
               int64_t count) {
  const int64_t p = std::min(m, n), q = std::max(m, n);
  if (!all_finite(a, m * n)) return not_finite;
  double scale = 0;
  for (int64_t i = 0; i < m * n; ++i) scale = std::max(scale, std::fabs(a[i]));
  std::fill(w, w + count * q, 0.0);
  for (int64_t i = 0; i < p; ++i) {
    for (int64_t j = 0; j < q && scale; ++j) {
      w[i * q + j] = (m >= n ? a[j * n + i] : a[i * n + j]) / scale;
    }
  }
  for (int64_t i = 0; i < p * p; ++i) z[i] = i % (p + 1) == 0;
  if (int64_t failed = orthogonalize(w, z, p, q)) return failed;
  for (int64_t i = 0; i < p; ++i) s[i] = std::sqrt(dot(w + i * q, w + i * q, q));
  for (int64_t i = 0; i < p; ++i) {
    int64_t largest = std::max_element(s + i, s + p) - s;
    if (largest != i) {
      std::swap(s[i], s[largest]);
      std::swap_ranges(w + i * q, w + (i + 1) * q, w + largest * q);
      std::swap_ranges(z + i * p, z + (i + 1) * p, z + largest * p);
    }
    for (int64_t j = 0; j < q && s[i] != 0; ++j) w[i * q + j] /= s[i];
    s[i] *= scale;
  }
  complete_rows(w, count, q);
  return 0;
}

int64_t count_of(int64_t m, int64_t n, bool full) { return full ? std::max(m, n) : std::min(m, n); }

// How many vectors U and V have.
struct Counts {
  int64_t u, v;
  Counts(int64_t m, int64_t n, bool full)
      : u(full ? m : std::min(m, n)), v(full ? n : std::min(m, n)) {}
};

// parts: U, s, V^T. attributes: full
MatrixSizes svd_sizes(int64_t m, int64_t n, int64_t, const Attributes& how) {
  Counts counts(m, n, how[0]);
  int64_t p = std::min(m, n);
  return {{m * counts.u, p, counts.v * n}, count_of(m, n, how[0]) * std::max(m, n) + p * p};
}

int64_t svd_function(const Matrices<double>& of) {
  const int64_t m = of.m, n = of.n, p = std::min(m, n), count = count_of(m, n, of.how[0]);
  Counts counts(m, n, of.how[0]);
  double *u = of.out[0], *vt = of.out[2], *w = of.work, *z = w + count * std::max(m, n);
  if (int64_t failed = jacobi(of.in[0], m, n, of.out[1], w, z, count)) return failed;
  const double *left = m >= n ? w : z, *right = m >= n ? z : w;
  for (int64_t j = 0; j < counts.u; ++j) {
    for (int64_t i = 0; i < m; ++i) u[i * counts.u + j] = left[j * m + i];
  }
  std::copy(right, right + counts.v * n, vt);
  fix_singular_signs(u, m, counts.u, vt, n, counts.v, p);
  return 0;
}

struct Parts {
  Tensor u, s, vt, failures;  // s: [..., 1, p]

  Parts(const Tensor& all, const Tensor& a, bool full) {
    int64_t first = 0, m = rows_of(a), n = columns_of(a);
    Counts counts(m, n, full);
    Shape lead = leading(a);
    u = take_part(all, &first, with_matrix(lead, m, counts.u));
    s = take_part(all, &first, with_matrix(lead, 1, std::min(m, n)));
    vt = take_part(all, &first, with_matrix(lead, counts.v, n));
    failures = take_part(all, &first, {element_count(lead)});
  }
  // Without the vectors that belong to no singular value.
  void reduce() {
    u = slice(u, u.rank() - 1, 0, s.shape().back(), 1);
    vt = slice(vt, vt.rank() - 2, 0, s.shape().back(), 1);
  }
};

Tensor antisymmetric(const Tensor& x) { return x - transpose(x); }

// With F = 1 / (s_j^2 - s_i^2), the antisymmetric parts of U^T dU and V^T dV times F turn the
// vectors among each other, ds stretches them, and what of dU and dV lies outside of U and V turns
// them out of there.
void svd_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  const Tensor& a = node.inputs[0];
  Parts of(this_value(node), a, node.attributes[0]), given(arrived, a, node.attributes[0]);
  of.reduce();
  given.reduce();
  const Tensor &u = of.u, &s = of.s, &vt = of.vt;
  Tensor column = transpose(s);
  Tensor f = inverse_or_zero((s - column) * (s + column)), by_s = inverse_or_zero(s);
  Tensor from_u = matmul(transpose(u), given.u), from_v = matmul(given.vt, transpose(vt));
  Tensor inner = antisymmetric(from_u) * f * s + column * (antisymmetric(transpose(from_v)) * f);
  Tensor left = matmul(u, inner) + u * given.s;
  if (rows_of(a) > s.shape().back()) left = left + (given.u - matmul(u, from_u)) * by_s;
  Tensor da = matmul(left, vt);
  if (columns_of(a) > s.shape().back()) {
    da = da + matmul(u * by_s, given.vt - matmul(from_v, vt));
  }
  gradients[0] = da;
}
const MatrixOp svd_op = matrix_op("svd", svd_gradient, 1, svd_sizes, svd_function);

// parts: s
MatrixSizes values_sizes(int64_t m, int64_t n, int64_t, const Attributes&) {
  int64_t p = std::min(m, n);
  return {{p}, m * n + p * p};
}
int64_t values_function(const Matrices<double>& of) {
  return jacobi(of.in[0], of.m, of.n, of.out[0], of.work, of.work + of.m * of.n,
                std::min(of.m, of.n));
}

// The vectors are computed for this alone: da = U diag(ds) V^T.
void values_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  const Tensor& a = node.inputs[0];
  Parts of(record_parts(svd_op, a, {false}), a, false);
  int64_t first = 0;
  Tensor ds = take_part(arrived, &first, of.s.shape());
  gradients[0] = matmul(of.u * ds, of.vt);
}
const MatrixOp values_op = matrix_op("svdvals", values_gradient, 1, values_sizes, values_function);

}  // namespace

Svd svd(const Tensor& x, bool full) {
  Tensor a = matrix_operand(x, "svd", false);
  Parts of(record_parts(svd_op, a, {full}), a, full);
  check_matrices(of.failures, x, "svd", no_convergence);
  return {cast(of.u, x.dtype()), cast(squeeze(of.s, {-2}), x.dtype()), cast(of.vt, x.dtype())};
}

Tensor svdvals(const Tensor& x) {
  Tensor a = matrix_operand(x, "svdvals", false), all = record_parts(values_op, a);
  int64_t first = 0;
  Shape shape = leading(a);
  shape.push_back(std::min(rows_of(a), columns_of(a)));
  Tensor s = take_part(all, &first, shape);
  check_matrices(take_part(all, &first, {element_count(leading(a))}), x, "svdvals", no_convergence);
  return cast(s, x.dtype());
}

}  // namespace mt
