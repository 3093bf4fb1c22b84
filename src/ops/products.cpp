// SPDX-License-Identifier: Apache-2.0
// Products of vectors and matrices, all contractions or sums of element-wise products; and
// diagonals.
#include <algorithm>

#include "base/error.h"
#include "ops/ops.h"

namespace mt {
namespace {

// x with the axes `order`, as [sizes of the free axes..., sizes of the summed axes...].
Tensor with_last(const Tensor& x, const Dims& summed) {
  Dims order;
  for (int i = 0; i < x.rank(); ++i) {
    if (!summed.contains(i)) order.push_back(i);
  }
  for (int64_t axis : summed) order.push_back(axis);
  return permute(x, order);
}

Tensor at(const Tensor& x, int axis, int64_t i) { return select(x, axis, i); }

}  // namespace

Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& axes_a, const Dims& axes_b) {
  Dims left, right;
  if (axes_a.rank() != axes_b.rank()) {
    fail(Code::invalid, "tensordot: %d axes against %d", axes_a.rank(), axes_b.rank());
  }
  for (int i = 0; i < axes_a.rank(); ++i) {
    int l = normalize_axis(axes_a[i], a.rank(), "tensordot");
    int r = normalize_axis(axes_b[i], b.rank(), "tensordot");
    if (left.contains(l) || right.contains(r)) {
      fail(Code::invalid, "tensordot: an axis appears twice");
    }
    if (a.shape()[l] != b.shape()[r]) {
      fail(Code::shape, "tensordot: axis %d of %s and axis %d of %s differ", l,
           to_string(a.shape()).c_str(), r, to_string(b.shape()).c_str());
    }
    left.push_back(l);
    right.push_back(r);
  }
  int k = left.rank(), m = a.rank() - k, n = b.rank() - k;
  if (m + n > max_rank) fail(Code::shape, "tensordot: %d dimensions, %d at most", m + n, max_rank);
  return contract(with_last(a, left), with_last(b, right), 0, m, n, k);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  if (a.rank() != 1 || b.rank() != 1) {
    fail(Code::shape, "outer: %s and %s: needs two vectors", to_string(a.shape()).c_str(),
         to_string(b.shape()).c_str());
  }
  return mul(unsqueeze(a, 1), b);
}

Tensor vecdot(const Tensor& a, const Tensor& b, int64_t axis) {
  if (axis >= 0) {
    // Counted from the left, it would name other axes of the two once they broadcast.
    if (a.rank() != b.rank()) {
      fail(Code::index, "vecdot: axis %lld of %s and %s: count it from the last, as -1",
           static_cast<long long>(axis), to_string(a.shape()).c_str(),
           to_string(b.shape()).c_str());
    }
    axis -= a.rank();
  }
  int left = normalize_axis(axis, a.rank(), "vecdot"),
      right = normalize_axis(axis, b.rank(), "vecdot");
  if (a.shape()[left] != b.shape()[right]) {
    fail(Code::shape, "vecdot: axis %lld of %s and %s differs", static_cast<long long>(axis),
         to_string(a.shape()).c_str(), to_string(b.shape()).c_str());
  }
  Dtype dtype = promote(a.dtype(), b.dtype(), "vecdot");
  Tensor products = mul(cast(a, dtype), cast(b, dtype));
  Tensor y = sum(products, {products.rank() + axis});
  return cast(y, dtype);
}

Tensor cross(const Tensor& a, const Tensor& b, int64_t axis) {
  int rank = std::max(a.rank(), b.rank());
  int left = normalize_axis(axis < 0 ? axis : axis - rank, a.rank(), "cross");
  int right = normalize_axis(axis < 0 ? axis : axis - rank, b.rank(), "cross");
  if (a.shape()[left] != 3 || b.shape()[right] != 3) {
    fail(Code::shape, "cross: %s and %s: axis %lld must be of size 3", to_string(a.shape()).c_str(),
         to_string(b.shape()).c_str(), static_cast<long long>(axis));
  }
  auto component = [&](int i, int j) {
    return at(a, left, i) * at(b, right, j) - at(a, left, j) * at(b, right, i);
  };
  int place = normalize_axis(axis, rank, "cross");
  return stack({component(1, 2), component(2, 0), component(0, 1)}, place);
}

// The diagonal of a block that is square: from column k on, or from row -k on.
Tensor matrix_diagonal(const Tensor& x, int64_t k) {
  if (x.rank() < 2) {
    fail(Code::shape, "matrix_diagonal: needs two dimensions, got %s",
         to_string(x.shape()).c_str());
  }
  int row = x.rank() - 2, column = x.rank() - 1;
  int64_t rows = x.shape()[row], columns = x.shape()[column];
  k = std::clamp(k, -rows, columns);
  int64_t top = std::max<int64_t>(-k, 0), start = std::max<int64_t>(k, 0);
  int64_t length = std::min(rows - top, columns - start);
  Tensor block = slice(x, row, length ? top : 0, length, 1);
  block = slice(block, column, length ? start : 0, length, 1);
  return diagonal(block, row, column);
}

Tensor matrix_trace(const Tensor& x, int64_t k) { return sum(matrix_diagonal(x, k), {-1}); }

}  // namespace mt
