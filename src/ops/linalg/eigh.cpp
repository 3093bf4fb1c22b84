// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of a symmetric matrix, a = V diag(w) V^T, of which the lower
// triangle is read; by Jacobi's rotations.
#include "ops/linalg/matrices.h"

namespace mt {
namespace {

constexpr int most_sweeps = 60;
constexpr char no_convergence[] = "did not converge in %lld sweeps";

// Turns axes p and q of a symmetric matrix so that a[p, q] becomes 0, and the columns of v along.
void rotate(double* a, double* v, int64_t n, int64_t p, int64_t q) {
  double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
  double t = std::copysign(1.0, theta) / (std::fabs(theta) + std::sqrt(1 + theta * theta));
  double c = 1 / std::sqrt(1 + t * t), s = t * c;
  for (int64_t i = 0; i < n; ++i) {
    double x = a[i * n + p], y = a[i * n + q];
    a[i * n + p] = c * x - s * y;
    a[i * n + q] = s * x + c * y;
    double vx = v[i * n + p], vy = v[i * n + q];
    v[i * n + p] = c * vx - s * vy;
    v[i * n + q] = s * vx + c * vy;
  }
  for (int64_t i = 0; i < n; ++i) {
    double x = a[p * n + i], y = a[q * n + i];
    a[p * n + i] = c * x - s * y;
    a[q * n + i] = s * x + c * y;
  }
  a[p * n + q] = a[q * n + p] = 0;
}

// Eigenvalues, ascending, and eigenvectors, as columns, of `a`, which is destroyed.
int64_t jacobi(double* a, int64_t n, double* w, double* v) {
  double scale = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      if (!std::isfinite(a[i * n + j])) return not_finite;
      scale = std::max(scale, std::fabs(a[i * n + j]));
      a[j * n + i] = a[i * n + j];
    }
  }
  for (int64_t i = 0; i < n * n; ++i) {
    a[i] = scale ? a[i] / scale : 0;
    v[i] = i % (n + 1) == 0;
  }
  auto off_diagonal = [&] {
    double sum = 0;
    for (int64_t i = 0; i < n * n; ++i) sum += i % (n + 1) ? a[i] * a[i] : 0;
    return std::sqrt(sum);
  };
  int64_t sweeps = 0;
  while (off_diagonal() > 0x1p-54) {
    if (sweeps++ == most_sweeps) return most_sweeps;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] != 0) rotate(a, v, n, p, q);
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) w[i] = a[i * n + i] * scale;
  for (int64_t i = 0; i < n; ++i) {
    int64_t least = std::min_element(w + i, w + n) - w;
    if (least == i) continue;
    std::swap(w[i], w[least]);
    for (int64_t r = 0; r < n; ++r) std::swap(v[r * n + i], v[r * n + least]);
  }
  fix_signs<double>(v, n, n, n, 1, nullptr, 0);
  return 0;
}

// parts: w, V
MatrixSizes eigh_sizes(int64_t n, int64_t, int64_t, const Attributes&) { return {{n, n * n}}; }
int64_t eigh_function(const Matrices<double>& of) {
  return jacobi(of.in[0], of.n, of.out[0], of.out[1]);
}

struct Parts {
  Tensor w, v, failures;

  Parts(const Tensor& all, const Tensor& a) {
    int64_t first = 0;
    Shape row = with_matrix(leading(a), 1, rows_of(a));
    w = take_part(all, &first, row);
    v = take_part(all, &first, a.shape());
    failures = take_part(all, &first, {element_count(leading(a))});
  }
  Tensor values() const { return squeeze(w, {-2}); }
};

// da = V (diag(dw) + V^T dV / (w_j - w_i)) V^T, made symmetric.
void eigh_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  const Tensor& a = node.inputs[0];
  Parts of(this_value(node), a), given(arrived, a);
  Tensor turns = matmul(transpose(of.v), given.v) * inverse_or_zero(of.w - transpose(of.w));
  Tensor da = matmul(matmul(of.v, turns) + of.v * given.w, transpose(of.v));
  gradients[0] = (da + transpose(da)) * 0.5;
}
const MatrixOp eigh_op = matrix_op("eigh", eigh_gradient, 1, eigh_sizes, eigh_function);

// parts: w
MatrixSizes values_sizes(int64_t n, int64_t, int64_t, const Attributes&) { return {{n}, n * n}; }
int64_t values_function(const Matrices<double>& of) {
  return jacobi(of.in[0], of.n, of.out[0], of.work);
}

// The vectors are computed for this alone: da = V diag(dw) V^T.
void values_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  const Tensor& a = node.inputs[0];
  Parts of(record_parts(eigh_op, a), a);
  int64_t first = 0;
  Tensor dw = take_part(arrived, &first, of.w.shape());
  gradients[0] = matmul(of.v * dw, transpose(of.v));
}
const MatrixOp values_op = matrix_op("eigvalsh", values_gradient, 1, values_sizes, values_function);

}  // namespace

Eigh eigh(const Tensor& x) {
  Tensor a = matrix_operand(x, "eigh", true);
  Parts of(record_parts(eigh_op, a), a);
  check_matrices(of.failures, x, "eigh", no_convergence);
  return {cast(of.values(), x.dtype()), cast(of.v, x.dtype())};
}

Tensor eigvalsh(const Tensor& x) {
  Tensor a = matrix_operand(x, "eigvalsh", true), all = record_parts(values_op, a);
  int64_t first = 0;
  Shape shape = leading(a);
  shape.push_back(rows_of(a));
  Tensor w = take_part(all, &first, shape);
  check_matrices(take_part(all, &first, {element_count(leading(a))}), x, "eigvalsh",
                 no_convergence);
  return cast(w, x.dtype());
}

}  // namespace mt
