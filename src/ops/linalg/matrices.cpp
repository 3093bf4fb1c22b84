// SPDX-License-Identifier: Apache-2.0
#include "ops/linalg/matrices.h"

#include <cstdio>
#include <vector>

#include "base/error.h"
#include "graph/modes.h"
#include "graph/trace_log.h"
#include "ops/nonzero.h"

namespace mt {

namespace detail {

template <class T>
void gather_matrix(const NaiveArray& x, int64_t b, T* to) {
  const Layout& layout = x.layout;
  int lead = layout.shape.rank() - 2;
  int64_t rows = layout.shape[lead], columns = layout.shape[lead + 1];
  int64_t down = layout.strides[lead], across = layout.strides[lead + 1], at = layout.offset;
  for (int d = lead - 1; d >= 0; --d) {
    at += b % layout.shape[d] * layout.strides[d];
    b /= layout.shape[d];
  }
  auto copy = [&](const auto* from) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        *to++ = static_cast<T>(from[at + i * down + j * across]);
      }
    }
  };
  if (x.dtype == Dtype::float32) {
    copy(static_cast<const float*>(x.data));
  } else {
    copy(static_cast<const double*>(x.data));
  }
}
template void gather_matrix<float>(const NaiveArray& x, int64_t b, float* to);
template void gather_matrix<double>(const NaiveArray& x, int64_t b, double* to);

}  // namespace detail

MatrixCall::MatrixCall(const NaiveCall& given) : call(given) {
  const MatrixOp& op = static_cast<const MatrixOp&>(call.op);
  operands = op.operands;
  const Shape& first = call.inputs[0].layout.shape;
  int lead = first.rank() - 2;
  m = first[lead];
  n = first[lead + 1];
  k = call.inputs[operands - 1].layout.shape.back();
  batch = element_count(Shape(first.data(), lead));
  for (size_t i = 0; i < operands; ++i) {
    const Shape& shape = call.inputs[i].layout.shape;
    elements[i] = shape[lead] * shape[lead + 1];
  }
  sizes = op.sizes(m, n, k, call.attributes);
}

int64_t MatrixCall::memory(int64_t work) const {
  return elements[0] + elements[1] + elements[2] + sizes.result() + work;
}

void matrix_value(const NaiveCall& call) {
  MatrixCall matrices(call);
  std::vector<double> memory(static_cast<size_t>(matrices.memory(matrices.sizes.work)) + 1);
  MatrixFunction<double> function = static_cast<const MatrixOp&>(call.op).function;
  for (int64_t b = 0; b < matrices.batch; ++b) {
    matrices.run(b, memory.data(), function, matrices.sizes.work);
  }
}

// ------------------------------------------------------------------------------------- Recording

Shape with_matrix(Shape lead, int64_t rows, int64_t columns) {
  lead.push_back(rows);
  lead.push_back(columns);
  return lead;
}

Tensor take_part(const Tensor& all, int64_t* first, const Shape& shape) {
  int64_t count = element_count(shape), start = *first;
  *first += count;
  return reshape(slice(all, 0, count ? start : 0, count, 1), shape);
}

Tensor matrix_operand(const Tensor& x, const char* name, bool square) {
  if (x.rank() < 2) {
    fail(Code::shape, "%s: %s is no matrix", name, to_string(x.shape()).c_str());
  }
  if (square && rows_of(x) != columns_of(x)) {
    fail(Code::shape, "%s: %s is not square", name, to_string(x.shape()).c_str());
  }
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "%s: needs floats, got %s", name, name_of(x.dtype()));
  }
  return cast(x, accumulator_of(x.dtype()));
}

Tensor record_parts(const MatrixOp& op, const Tensor& x, Attributes how) {
  MatrixSizes sizes = op.sizes(rows_of(x), columns_of(x), columns_of(x), how);
  int64_t batch = element_count(leading(x)), count = sizes.result() + 1;
  check_shape({batch, count}, size_of(x.dtype()), op.name);
  return record(op, x.dtype(), {batch * count}, {x}, std::move(how));
}

void check_matrices(const Tensor& failures, const Tensor& x, const char* name, const char* why) {
  if (TraceLog::current() || failures.size() == 0) return;
  GradientMode none(false);
  Tensor any_failed = any(failures);
  if (read_integer(any_failed) == 0) return;
  int64_t failed = read_integer(argmax(cast(cast(failures, Dtype::boolean), Dtype::int32)));
  int64_t number = read_integer(select(failures, 0, failed));
  if (number == not_finite) why = "holds a NaN or an infinity";
  Shape lead = leading(x), index = lead;
  for (int d = lead.rank() - 1; d >= 0; --d) {
    index[d] = failed % lead[d];
    failed /= lead[d];
  }
  char reason[160];
  std::snprintf(reason, sizeof reason, why, static_cast<long long>(number));
  if (lead.empty()) fail(Code::invalid, "%s: %s %s", name, to_string(x.shape()).c_str(), reason);
  fail(Code::invalid, "%s: matrix %s of %s %s", name, to_string(index).c_str(),
       to_string(x.shape()).c_str(), reason);
}

Tensor identity_like(const Tensor& x) {
  return expand(eye(rows_of(x), rows_of(x), 0, x.dtype(), x.device()), x.shape());
}

bool all_finite(const double* x, int64_t count) {
  return std::all_of(x, x + count, [](double value) { return std::isfinite(value); });
}

Tensor inverse_or_zero(const Tensor& x) {
  Tensor zero = full({}, 0, x.dtype(), x.device()), one = full({}, 1, x.dtype(), x.device());
  Tensor is_zero = equal(x, zero);
  return where(is_zero, zero, div(one, where(is_zero, one, x)));
}

}  // namespace mt
