// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/operand.h"

#include <cstdlib>

namespace mt::cpu {
namespace {

Axis axis(const std::vector<ContractionDim>& dims, int64_t ContractionDim::*stride) {
  Axis result;
  for (const ContractionDim& dim : dims) result.append(dim.size, dim.*stride);
  return result;
}

}  // namespace

void Axis::append(int64_t dimension_size, int64_t dimension_stride) {
  size *= dimension_size;
  if (dimension_size == 1) return;
  if (rank > 0 && strides[rank - 1] == dimension_size * dimension_stride) {
    sizes[rank - 1] *= dimension_size;
    strides[rank - 1] = dimension_stride;
    return;
  }
  sizes[rank] = dimension_size;
  strides[rank++] = dimension_stride;
}

int64_t Axis::span() const {
  int64_t result = 1;
  for (int d = 0; d < rank; ++d) result += (sizes[d] - 1) * std::abs(strides[d]);
  return result;
}

bool Axis::ascends() const {
  int64_t reached = 1;
  for (int d = rank - 1; d >= 0; --d) {
    if (strides[d] < reached || (d == rank - 1 && strides[d] != 1)) return false;
    reached = strides[d] * sizes[d];
  }
  return true;
}

bool MatrixOperand::slides(double often) const {
  return rows.size > 1 && k.size > 1 &&
         static_cast<double>(rows.size * k.size) >=
             often * static_cast<double>(rows.span() + k.span() - 1);
}

void Axis::offsets(int64_t first, int64_t count, int64_t* out) const {
  if (rank <= 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = (first + i) * stride();
    return;
  }
  const int64_t step = stride();
  for_runs(first, count, [&](int64_t position, int64_t from, int64_t length) {
    for (int64_t i = 0; i < length; ++i) out[position + i] = from + i * step;
  });
}

bool reads_columns_in_place(const MatrixOperand& x, int64_t many) {
  return x.slides() && x.rows.ascends() && (x.rows.span() - x.rows.size) * many <= 12 * x.rows.size;
}

bool has_short_windows(const MatrixOperand& a, const MatrixOperand& b, ShortWindows most) {
  const bool floats = a.dtype == Dtype::float32 && b.dtype == Dtype::float32;
  if (!floats || a.rows.size < 5 || a.rows.size > most.rows || b.rows.rank == 0 || b.k.rank == 0) {
    return false;
  }
  const int64_t width = b.rows.sizes[b.rows.rank - 1];
  const bool fits = width >= 3 && width <= most_window_width && b.rows.stride() == 1;
  const bool follows = a.k.stride() == 1 && b.k.stride() == 1;
  return fits && follows && b.rows.size <= most.lines * width && b.slides() &&
         b.k.sizes[b.k.rank - 1] >= 16;
}

MatrixOperand operand_a(const Contraction& c) {
  auto stride = &ContractionDim::a_stride;
  return {c.a, axis(c.batch, stride), axis(c.m, stride), axis(c.k, stride)};
}

MatrixOperand operand_b(const Contraction& c) {
  auto stride = &ContractionDim::b_stride;
  return {c.b, axis(c.batch, stride), axis(c.n, stride), axis(c.k, stride)};
}

}  // namespace mt::cpu
