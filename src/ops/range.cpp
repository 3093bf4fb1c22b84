// SPDX-License-Identifier: Apache-2.0
// Tensors that are functions of their positions. All are written with iota, so they fuse with what
// reads them and are stored only when somebody looks; of what is the same along diagonals one
// number for each.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/ops.h"

namespace mt {
namespace {

Tensor positions(int64_t count, Device& device) { return iota({count}, Dtype::int64, device); }

// [rows, columns] of which element [r, c] is numbers[c - r + rows - 1]: a view of one number for
// each diagonal.
Tensor along_diagonals(const Tensor& numbers, int64_t columns) {
  return flip(window(numbers, 0, columns, 1, 1), {0});
}
// The numbers of the diagonals of [rows, columns], neither of which is 0.
Tensor diagonals(int64_t rows, int64_t columns, const char* name, Device& device) {
  const int64_t count = rows + columns - 1;
  check_shape({count}, size_of(Dtype::int64), name);
  return positions(count, device);
}

// [rows, columns], neither of which is 0: whether column - row is at least k.
Tensor above(int64_t rows, int64_t columns, int64_t k, const char* name, Device& device) {
  const int64_t first = std::clamp(k, -rows, columns) + rows - 1;
  return along_diagonals(
      greater_equal(diagonals(rows, columns, name, device), integer_number(first, device)),
      columns);
}

void check_matrix(const Tensor& x, const char* name) {
  if (x.rank() >= 2) return;
  fail(Code::shape, "%s: needs at least two dimensions, got %s", name,
       to_string(x.shape()).c_str());
}

Tensor zero_of(const Tensor& x) { return full({}, 0, x.dtype(), x.device()); }

bool is_whole(double value) { return value == std::trunc(value) && std::abs(value) < 0x1p62; }

}  // namespace

Tensor arange(double start, double stop, double step, Dtype dtype, Device& device) {
  if (!std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step) || step == 0) {
    fail(Code::invalid, "arange: from %g to %g by %g: values must be finite and the step not 0",
         start, stop, step);
  }
  double count = std::ceil((stop - start) / step);
  if (!(count < 9e18))
    fail(Code::shape, "arange: from %g to %g by %g is too long", start, stop, step);
  int64_t size = count > 0 ? static_cast<int64_t>(count) : 0;
  check_shape({size}, size_of(Dtype::float64), "arange");
  Tensor i = positions(size, device);
  if (is_integer(dtype) && is_whole(start) && is_whole(step)) {
    if (step != 1) i = mul(i, integer_number(static_cast<int64_t>(step), device));
    if (start != 0) i = add(i, integer_number(static_cast<int64_t>(start), device));
    return cast(i, dtype);
  }
  Tensor y = cast(i, Dtype::float64);
  if (step != 1) y = y * step;
  // Zero times a negative step is -0, and adding 0 makes 0 of it.
  if (start != 0 || step < 0) y = y + start;
  return cast(y, dtype);
}

Tensor linspace(double start, double stop, int64_t count, Dtype dtype, Device& device) {
  if (!is_floating(dtype)) {
    fail(Code::dtype, "linspace: gives floats, not %s", name_of(dtype));
  }
  if (count < 0) fail(Code::invalid, "linspace: %lld elements", static_cast<long long>(count));
  if (count <= 1) return full({count}, start, dtype, device);
  check_shape({count}, size_of(Dtype::float64), "linspace");
  Tensor i = iota({count}, count <= INT32_MAX ? Dtype::int32 : Dtype::int64, device);
  Tensor y = cast(i, Dtype::float64);
  const double intervals = static_cast<double>(count - 1), step = (stop - start) / intervals;
  // A subnormal step has lost digits, or all of them.
  const bool exact = std::isnormal(step) || start == stop;
  y = (exact ? y * step : y * (stop - start) / intervals) + start;
  // The last element is exactly `stop`, however the others round.
  Tensor last = equal(i, integer_number(count - 1, device));
  return cast(where(last, number(stop, device), y), dtype);
}

Tensor eye(int64_t rows, int64_t columns, int64_t k, Dtype dtype, Device& device) {
  check_shape({rows, columns}, size_of(dtype), "eye");
  const bool empty = rows == 0 || columns == 0;
  if (empty || k <= -rows || k >= columns) return full({rows, columns}, 0, dtype, device);
  Tensor one = equal(diagonals(rows, columns, "eye", device), integer_number(k + rows - 1, device));
  return copy(along_diagonals(cast(one, dtype), columns));
}

Tensor one_hot(const Tensor& indices, int64_t classes, Dtype dtype) {
  if (!is_integer(indices.dtype())) {
    fail(Code::dtype, "one_hot: needs integers, got %s", name_of(indices.dtype()));
  }
  if (indices.rank() == max_rank) {
    fail(Code::shape, "one_hot: %s has %d dimensions already", to_string(indices.shape()).c_str(),
         max_rank);
  }
  if (classes < 0) {
    fail(Code::invalid, "one_hot: %lld classes", static_cast<long long>(classes));
  }
  Dtype common = indices.dtype() == Dtype::uint64 ? Dtype::uint64 : Dtype::int64;
  Tensor values = cast(unsqueeze(indices, -1), common);
  return cast(equal(values, cast(positions(classes, indices.device()), common)), dtype);
}

Tensor tril(const Tensor& x, int64_t k) {
  check_matrix(x, "tril");
  int64_t rows = x.shape()[x.rank() - 2], columns = x.shape()[x.rank() - 1];
  if (x.size() == 0 || k >= columns) return x;
  return where(above(rows, columns, k + 1, "tril", x.device()), zero_of(x), x);
}

Tensor triu(const Tensor& x, int64_t k) {
  check_matrix(x, "triu");
  int64_t rows = x.shape()[x.rank() - 2], columns = x.shape()[x.rank() - 1];
  if (x.size() == 0) return x;
  return where(above(rows, columns, k, "triu", x.device()), x, zero_of(x));
}

}  // namespace mt
