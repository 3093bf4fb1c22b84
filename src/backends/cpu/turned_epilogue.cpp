// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/turned_epilogue.h"

#include <algorithm>
#include <utility>

namespace mt::cpu {
namespace {

// Most elements of a tile that are computed at once.
constexpr int64_t most_elements = 1024;

// Changes the layout of a memory from [m, n], the same for all batch entries, to [m, columns];
// false if it varies along n.
bool spread(Memory* memory, int64_t m, int64_t n, int64_t columns) {
  if (!turn(memory, m, n)) return false;
  const Strides strides = memory->layout.strides;
  memory->layout = {{m, columns}, {strides[1], 0}, memory->layout.offset};
  return strides[0] == 0;
}

}  // namespace

bool goes_anywhere(const Program& program) {
  return std::all_of(program.instructions.begin(), program.instructions.end(),
                     [](const Instruction& i) {
                       switch (i.code) {
                         case Opcode::load:
                         case Opcode::constant:
                         case Opcode::elementwise:
                         case Opcode::select:
                         case Opcode::cast:
                         case Opcode::to_boolean:
                         case Opcode::round:
                         case Opcode::store: return true;
                         default: return false;
                       }
                     });
}

bool turn(Memory* memory, int64_t m, int64_t n) {
  const Layout& layout = memory->layout;
  const auto zero = [](int64_t stride) { return stride == 0; };
  const int rank = layout.shape.rank();
  const bool one = std::all_of(layout.strides.begin(), layout.strides.begin() + rank, zero);
  const bool by_columns = rank == 2 && layout.shape[1] == n && layout.strides[0] == 0;
  const bool by_rows = rank >= 2 && layout.shape[rank - 1] == n && layout.strides[rank - 1] == 0 &&
                       layout.shape[rank - 2] == m &&
                       std::all_of(layout.strides.begin(), layout.strides.begin() + rank - 2, zero);
  if (memory->buffer < 0 || memory->row || !(one || by_columns || by_rows)) return false;
  const int64_t down = by_columns ? layout.strides[1] : 0;
  const int64_t along = by_rows ? layout.strides[rank - 2] : 0;
  memory->layout = {{n, m}, {down, along}, layout.offset};
  memory->contiguous = false;
  return true;
}

std::optional<TurnedEpilogue> turned_epilogue(const ContractGroup& group,
                                              const TurnedTiles& tiles) {
  const Program& program = group.epilogue->program;
  const int64_t columns = tiles.columns;
  if (group.epilogue->segments.size() != 1 || columns < 2 || !goes_anywhere(program)) {
    return std::nullopt;
  }
  const int64_t m = size_of_group(group.contraction.m), n = size_of_group(group.contraction.n);
  Segment segment = group.epilogue->segments[0];
  segment.rows = tiles.row_count;
  segment.columns = columns;
  int product = -1, result = -1;
  for (size_t at = 0; at < segment.memory.size(); ++at) {
    Memory& memory = segment.memory[at];
    const bool is_result = is_stored_to(program, at);
    if (!is_result && memory.buffer != group.output.buffer) {
      const bool serves = tiles.kind == TurnedTiles::rows ? spread(&memory, m, n, columns)
                                                          : turn(&memory, columns, n);
      if (!serves) return std::nullopt;
      continue;
    }
    int& which = is_result ? result : product;
    const bool in_order = memory.contiguous && !memory.row && memory.layout.offset == 0;
    if (which >= 0 || !in_order || memory.dtype != group.contraction.out) return std::nullopt;
    which = static_cast<int>(at);
    memory.layout = {{segment.rows, columns}, {columns, 1}, 0};
  }
  if (product < 0 || result < 0) return std::nullopt;
  // The plan lets the result take the product's place only if nothing else reads the product.
  if (segment.memory[result].buffer != group.output.buffer) return std::nullopt;
  const int64_t rows = std::max<int64_t>(1, most_elements / columns);
  TurnedEpilogue turned{prepare_tiles(program, segment, rows, Reduced::rows), product, result};
  if (turned.program.scratch_bytes > stack_registers) return std::nullopt;
  turned.program.instead = std::move(segment);
  return turned;
}

}  // namespace mt::cpu
