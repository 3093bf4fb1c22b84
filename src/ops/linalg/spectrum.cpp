// SPDX-License-Identifier: Apache-2.0
// What singular values tell: rank, pseudo-inverse and norms; and powers of a matrix.
#include <cstring>

#include "base/error.h"
#include "graph/modes.h"
#include "ops/linalg/matrices.h"

namespace mt {
namespace {

double epsilon_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16: return 0x1p-10;
    case Dtype::bfloat16: return 0x1p-7;
    case Dtype::float32: return 0x1p-23;
    default: return 0x1p-52;
  }
}

// Which of the values s of x count as more than 0: those above `tolerance` times the largest.
Tensor significant(const Tensor& s, const Tensor& x, const Tensor& tolerance) {
  double usual = static_cast<double>(std::max(rows_of(x), columns_of(x))) * epsilon_of(x.dtype());
  Tensor limit = tolerance ? as_dtype(tolerance, s.dtype(), s.device())
                           : full({}, usual, s.dtype(), s.device());
  if (limit.rank() > 0) limit = unsqueeze(limit, -1);
  return greater(s, limit * max(s, {-1}, true));
}

// The value is known when this is recorded, and the matrix is there for the gradient (Golub and
// Pereyra, 1973), which, other than that of the singular values, does not mind equal ones.
// parts: the inverse
MatrixSizes pinv_sizes(int64_t m, int64_t n, int64_t, const Attributes&) { return {{m * n}}; }
int64_t pinv_function(const Matrices<double>& of) {
  std::copy(of.in[0], of.in[0] + of.m * of.n, of.out[0]);
  return 0;
}
// da = -P^T dP P^T + (I - a P) dP^T P P^T + P^T P dP^T (I - P a).
void pinv_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor& a = node.inputs[1];
  Tensor p = this_value(node), pt = transpose(p), dt = transpose(dy);
  Tensor by_rows = matmul(matmul(dt, p), pt), by_columns = matmul(matmul(pt, p), dt);
  gradients[1] = by_rows - matmul(matmul(a, p), by_rows) + by_columns -
                 matmul(matmul(by_columns, p), a) - matmul(matmul(pt, dy), pt);
}
const MatrixOp pinv_op = matrix_op("pinv", pinv_gradient, 1, pinv_sizes, pinv_function);

Tensor pinv_value(const Tensor& a, const Tensor& x, const Tensor& tolerance) {
  GradientMode none(false);
  Svd of = svd(a, false);
  Tensor inverses = where(significant(of.s, x, tolerance), inverse_or_zero(of.s), zeros_like(of.s));
  return matmul(transpose(of.vt) * unsqueeze(inverses, -2), transpose(of.u));
}

}  // namespace

Tensor matrix_rank(const Tensor& x, const Tensor& tolerance) {
  GradientMode none(false);
  Tensor a = matrix_operand(x, "matrix_rank", false);
  if (rows_of(a) == 0 || columns_of(a) == 0) {
    return full(leading(a), 0, Dtype::int64, x.device());
  }
  return count_nonzero(significant(svdvals(a), x, tolerance), {-1});
}

Tensor pinv(const Tensor& x, const Tensor& tolerance) {
  Tensor a = matrix_operand(x, "pinv", false);
  Shape shape = with_matrix(leading(a), columns_of(a), rows_of(a));
  if (element_count(shape) == 0) return full(shape, 0, x.dtype(), x.device());
  Tensor value = pinv_value(detach(a), x, tolerance);
  if (value.shape() != shape) {
    fail(Code::shape, "pinv: tolerances of shape %s for %s", to_string(tolerance.shape()).c_str(),
         to_string(x.shape()).c_str());
  }
  return cast(record(pinv_op, a.dtype(), shape, {value, a}), x.dtype());
}

Tensor matrix_norm(const Tensor& x, const char* order, bool keep) {
  const char* name = "matrix_norm";
  auto is = [&](const char* text) { return std::strcmp(order, text) == 0; };
  Tensor a = matrix_operand(x, name, false);
  if (is("fro")) return norm(x, {-2, -1}, 2, keep);
  if (is("nuc") || is("2") || is("-2")) {
    Tensor s = svdvals(a);
    Tensor y = is("nuc") ? sum(s, {-1}) : is("2") ? max(s, {-1}) : min(s, {-1});
    return cast(keep ? unsqueeze(unsqueeze(y, -1), -1) : y, x.dtype());
  }
  if (is("1") || is("-1") || is("inf") || is("-inf")) {
    Tensor sums = sum(abs(x), {order[order[0] == '-'] == '1' ? -2 : -1}, true);
    return order[0] == '-' ? min(sums, {-2, -1}, keep) : max(sums, {-2, -1}, keep);
  }
  fail(Code::invalid, "%s: \"%s\" is none of fro, nuc, 1, -1, 2, -2, inf, -inf", name, order);
}

Tensor matrix_power(const Tensor& x, int64_t n) {
  if (x.rank() < 2 || rows_of(x) != columns_of(x)) {
    fail(Code::shape, "matrix_power: %s is not square", to_string(x.shape()).c_str());
  }
  Tensor square = n < 0 ? inverse(x) : x, result;
  for (uint64_t left = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n); left;
       left >>= 1) {
    if (left & 1) result = result ? matmul(result, square) : square;
    if (left > 1) square = matmul(square, square);
  }
  return result ? result : identity_like(x);
}

}  // namespace mt
