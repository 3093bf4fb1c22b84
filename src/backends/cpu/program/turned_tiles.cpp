// SPDX-License-Identifier: Apache-2.0
// Reads and writes transposed tiles (narrow.h).
#include <algorithm>

#include "backends/cpu/program/program.h"
#include "backends/cpu/strided/strided.h"
#include "base/rounding.h"
#include "tensor/walker.h"

namespace mt::cpu {

void ProgramRun::gather_turned(char* out, const char* base, int16_t index, int64_t first,
                               int64_t count) {
  const Memory& memory = segment_->memory[index];
  const size_t size = size_of(memory.dtype);
  const NarrowOperand& operand = prepared_.narrow[index];
  const int64_t columns = segment_->columns, rows = count / columns;
  const size_t bytes = static_cast<size_t>(rows) * size;
  if (memory.contiguous && !(columns == 2 && size == 4)) {
    const Layout turned{{columns, rows}, {1, columns}, 0};
    const int64_t begin = first * static_cast<int64_t>(size);
    gather_strided(out, base + begin, size, turned, 0, count);
    return;
  }
  for (size_t c = 0; c < operand.columns.size(); ++c) {
    char* column = out + c * bytes;
    if (c > 0 && operand.repeated) {
      copy_bytes(column, out, bytes);
      continue;
    }
    const char* from = base + operand.columns[c] * static_cast<int64_t>(size);
    // Adjacent columns of a window are deinterleaved together.
    if (size == 4 && c + 1 < operand.columns.size() &&
        operand.columns[c + 1] == operand.columns[c] + 1 && operand.rows.shape.rank() > 0 &&
        operand.rows.strides.back() == 2) {
      gather_pairs(column, column + bytes, from, operand.rows, first / columns, rows);
      ++c;
      continue;
    }
    gather_strided(column, from, size, operand.rows, first / columns, rows);
    const int64_t next = first / columns + rows;
    if (!operand.ahead || next >= segment_->rows) continue;
    // The hardware does not prefetch a short run of each of many columns.
    const char* const coming = from + locate(operand.rows, next) * static_cast<int64_t>(size);
    for (size_t at = 0; at < bytes; at += cache_line) __builtin_prefetch(coming + at, 0, 2);
  }
}

void ProgramRun::count_turned(char* out, const Instruction& iota, int64_t first, int64_t count) {
  const size_t size = size_of(iota.type);
  const NarrowOperand& operand = prepared_.narrow[iota.index];
  const int64_t columns = segment_->columns, rows = count / columns;
  for (int64_t c = 0; c < columns; ++c) {
    Layout column = operand.rows;
    column.offset =
        segment_->memory[iota.index].layout.offset + operand.columns[static_cast<size_t>(c)];
    strided_positions(out + c * rows * static_cast<int64_t>(size), size, column, first / columns,
                      rows);
  }
}

void ProgramRun::store_turned(const Step& step, int64_t first, int64_t rows) {
  const Instruction& i = *step.instruction;
  const size_t size = size_of(i.dtype);
  const int64_t count = rows * columns_;
  const void* from = address(step.in[0].place, first);
  if (i.dtype == Dtype::boolean || needs_rounding(i.dtype) || size != size_of(i.type)) {
    char* converted = places_[prepared_.program->registers].base;
    step.convert(converted, &from, count);
    from = converted;
  }
  const Layout turned{{rows, columns_}, {1, rows}, 0};
  gather_strided(address(step.out, first), from, size, turned, 0, count);
}

}  // namespace mt::cpu
