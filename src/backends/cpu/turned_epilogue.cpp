// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/turned_epilogue.h"

#include <algorithm>
#include <utility>

namespace mt::cpu {
namespace {

// Of a tile that is gone through at once.
constexpr int64_t most_elements = 1024;

// Whether what it computes depends on the values alone, and not on where they are.
bool goes_anywhere(const Instruction& i) {
  return i.code == Opcode::load || i.code == Opcode::constant || i.code == Opcode::elementwise ||
         i.code == Opcode::select || i.code == Opcode::cast || i.code == Opcode::to_boolean ||
         i.code == Opcode::round || i.code == Opcode::store;
}

// The same memory for an iteration over [n, columns]; false if it differs from row to row of the
// result.
bool turn(Memory* memory, int64_t n, int64_t columns) {
  const Layout& layout = memory->layout;
  const auto zero = [](int64_t stride) { return stride == 0; };
  const int rank = layout.shape.rank();
  const bool one = std::all_of(layout.strides.begin(), layout.strides.begin() + rank, zero);
  const bool by_columns = rank == 2 && layout.shape[1] == n && layout.strides[0] == 0;
  if (memory->buffer < 0 || memory->row || (!one && !by_columns)) return false;
  const int64_t stride = one ? 0 : layout.strides[1];
  memory->layout = {{n, columns}, {stride, 0}, layout.offset};
  memory->contiguous = false;
  return true;
}

}  // namespace

std::optional<TurnedEpilogue> turned_epilogue(const ContractGroup& group, int64_t columns) {
  const Program& program = group.epilogue->program;
  if (group.epilogue->segments.size() != 1 || columns < 2 ||
      !std::all_of(program.instructions.begin(), program.instructions.end(), goes_anywhere)) {
    return std::nullopt;
  }
  const int64_t n = size_of_group(group.contraction.n);
  Segment segment = group.epilogue->segments[0];
  segment.rows = n;
  segment.columns = columns;
  int product = -1, result = -1;
  for (size_t m = 0; m < segment.memory.size(); ++m) {
    Memory& memory = segment.memory[m];
    const bool is_result = is_stored_to(program, m);
    if (!is_result && memory.buffer != group.output.buffer) {
      if (!turn(&memory, n, columns)) return std::nullopt;
      continue;
    }
    int& which = is_result ? result : product;
    const bool in_order = memory.contiguous && !memory.row && memory.layout.offset == 0;
    if (which >= 0 || !in_order || memory.dtype != group.contraction.out) return std::nullopt;
    which = static_cast<int>(m);
    memory.layout = {{n, columns}, {columns, 1}, 0};
  }
  if (product < 0 || result < 0) return std::nullopt;
  // The plan lets the result take the product's place only if nobody else reads that.
  if (segment.memory[result].buffer != group.output.buffer) return std::nullopt;
  const int64_t rows = std::max<int64_t>(1, most_elements / columns);
  TurnedEpilogue turned{prepare_tiles(program, segment, rows, Reduced::rows), product, result};
  if (turned.program.scratch_bytes > stack_registers) return std::nullopt;
  turned.program.instead = std::move(segment);
  return turned;
}

}  // namespace mt::cpu
