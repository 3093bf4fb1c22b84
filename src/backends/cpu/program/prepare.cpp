// SPDX-License-Identifier: Apache-2.0
// Prepares a program: chooses how it goes through its elements, and the size of its tiles.
#include <algorithm>

#include "backends/cpu/elementwise/work.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/program/ahead.h"
#include "backends/cpu/program/make_steps.h"
#include "backends/cpu/program/parts.h"
#include "backends/cpu/program/tile_size.h"
#include "backends/cpu/strided/pool_pairs.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

// Elements of a tile: enough to hide the dispatch of an instruction, few enough for a handful of
// tiles to stay in the first-level cache.
constexpr int64_t most_tile_elements = 1024;
constexpr int64_t most_turned_elements = 32 << 10;  // of rows that are read together
// Fewest rows of a transposed tile (narrow.h), if there are more: each column costs a call.
constexpr int64_t fewest_narrow_rows = 512;
// Columns for which an element-wise program goes row by row, to read broadcast operands in place.
constexpr int64_t fewest_columns = 16, most_columns = 4096;

// Places the registers: the single numbers next to each other, then tiles.
void place_registers(const Program& program, int64_t register_bytes, PreparedProgram* prepared) {
  std::vector<int64_t>& slots = prepared->slots;
  const size_t totals = prepared->totals.size();
  slots.assign(static_cast<size_t>(program.registers) + 1 + prepared->streamed.size() + totals, -1);
  std::fill(slots.end() - static_cast<std::ptrdiff_t>(totals), slots.end(), 0);
  int64_t bytes = 0;
  for (int i = 0; i < program.once; ++i) {
    size_t out = program.instructions[i].out;
    if (prepared->filled[out]) continue;
    slots[out] = bytes;
    bytes += 8;
  }
  bytes = round_up(bytes, cache_line);
  for (int64_t& slot : slots) {
    if (slot >= 0) continue;
    slot = bytes;
    bytes += register_bytes;
  }
  prepared->scratch_bytes = bytes;
}

// The work of one element.
int64_t all_work_of(const Program& program) {
  int64_t work = 1;
  for (const Instruction& i : program.instructions) {
    work += i.code == Opcode::elementwise ? work_of(static_cast<Elementwise>(i.detail)) : 1;
  }
  return work;
}

// The row length for going through an element-wise segment row by row, if some operand is broadcast
// over its rows or along them; else 0.
int64_t columns_of(const Segment& segment) {
  for (const Memory& memory : segment.memory) {
    if (memory.layout.shape.rank() != 2) continue;
    int64_t columns = memory.layout.shape[1];
    if (columns >= fewest_columns && columns <= most_columns && is_regular(memory, columns)) {
      return columns;
    }
  }
  return 0;
}

// Rows that are enough for a tile.
int64_t fewest_rows(int64_t columns) { return std::max<int64_t>(1, most_tile_elements / columns); }

// As columns_of(), for operands that are evenly spaced over some rows only.
int64_t uneven_columns_of(const Segment& segment) {
  const int64_t columns = piece_length(segment, most_columns);
  if (columns == 0) return 0;
  int64_t rows = fewest_rows(columns);
  const bool some = !pieced_operands(segment, columns, &rows).empty();
  return some && rows * columns >= most_tile_elements / 2 ? columns : 0;
}

void set_tiles(const Segment& segment, int64_t rows, PreparedProgram* prepared) {
  const Program& program = *prepared->program;
  prepared->tile_rows = rows;
  int64_t columns = std::max<int64_t>(segment.columns, 1);  // without columns there are row values
  place_registers(program, round_up(rows * columns * element_bytes(program), cache_line), prepared);
}

// The one memory that an element-wise program writes, if it writes just one and none of its values
// depends on the order of elements; else -1.
int only_result(const Program& program) {
  int result = -1;
  for (const Instruction& i : program.instructions) {
    if (i.code == Opcode::random) return -1;
    const int16_t place = written_by(i);
    if (place >= 0 || place == no_place || ~place == result) continue;
    if (result >= 0) return -1;
    result = ~place;
  }
  return result;
}

// Whether steps pass nothing on in registers, which have room for one tile only: a run may then
// cover any number of elements.
bool leaves_nothing(const PreparedProgram& prepared, const std::vector<Segment>& segments) {
  const std::vector<Step>& steps = prepared.steps;
  if (std::all_of(steps.begin(), steps.end(), [](const Step& s) { return s.operate_all; })) {
    return true;
  }
  const Opcode code = steps[0].instruction->code;
  if (steps.size() > 1 || steps[0].out >= 0 || code == Opcode::iota || code == Opcode::random) {
    return false;
  }
  // What has to be gathered before it is converted is gathered in a register.
  const auto is_gathered = [&](const Segment& segment) {
    return !segment.memory[steps[0].instruction->index].contiguous;
  };
  if (code == Opcode::load && steps[0].convert &&
      std::any_of(segments.begin(), segments.end(), is_gathered)) {
    return false;
  }
  return std::none_of(steps[0].in, steps[0].in + 4,
                      [&](const Source& in) { return in.place >= 0 && prepared.filled[in.place]; });
}

// Whether the registers that are filled once hold the same numbers for both segments.
bool same_numbers(const Program& program, const Segment& a, const Segment& b) {
  for (int i = 0; i < program.once; ++i) {
    const Instruction& instruction = program.instructions[i];
    const int16_t index = instruction.index;
    if (instruction.code == Opcode::constant) {
      if (a.constants[index] != b.constants[index]) return false;
    } else {
      const Memory &one = a.memory[index], &other = b.memory[index];
      if (one.buffer != other.buffer || one.layout.offset != other.layout.offset) return false;
    }
  }
  return true;
}

PreparedProgram prepare_steps(const Program& program, const Segment& segment,
                              std::vector<int16_t> streamed, PreparedProgram prepared = {},
                              bool whole_rows = true) {
  prepared.program = &program;
  prepared.threads = thread_count();
  make_steps(program, segment, std::move(streamed), whole_rows, &prepared);
  return prepared;
}

// Rounds `rows` down so that tiles begin and end with whole inner dimensions of the operand.
int64_t whole_lines(const NarrowOperand& operand, int64_t rows) {
  const Shape& shape = operand.rows.shape;
  int64_t together = 1;
  for (int d = shape.rank() - 1; d >= 0 && together * shape[d] <= rows; --d) together *= shape[d];
  return rows / together * together;
}

// Whether the program only loads two-by-two windows and stores their largest elements.
bool only_pools(const PreparedProgram& prepared) {
  if (!prepared.is_turned() || prepared.steps.size() != 2) return false;
  const Step &load = prepared.steps[0], &reduce = prepared.steps[1];
  const Instruction &from = *load.instruction, &to = *reduce.instruction;
  return from.code == Opcode::load && !from.row && from.dtype == Dtype::float32 &&
         from.type == Compute::f32 && are_pairs(prepared.narrow[from.index]) &&
         to.code == Opcode::reduce && static_cast<Reduction>(to.detail) == Reduction::max &&
         reduce.operate && reduce.in[0].place == load.out && reduce.out < 0 && pools_pairs();
}

// Whether the program only loads windows that move by one element, unconverted, and reduces them.
bool only_slides(const PreparedProgram& prepared) {
  if (!prepared.is_turned() || prepared.steps.size() != 2) return false;
  const Step &load = prepared.steps[0], &reduce = prepared.steps[1];
  const Instruction& from = *load.instruction;
  if (from.code != Opcode::load || from.row || from.dtype == Dtype::boolean) return false;
  if (size_of(from.dtype) != size_of(from.type)) return false;
  return reduce.instruction->code == Opcode::reduce && reduce.operate && !reduce.is_pair &&
         reduce.in[0].place == load.out && are_sliding(prepared.narrow[from.index]);
}

// Finds operands to read piece by piece; returns how many rows tiles then have, or 0 if none.
int64_t find_pieces(const Segment& segment, PreparedProgram* prepared) {
  const int64_t columns = segment.columns, length = piece_length(segment, columns);
  if (length == 0 || columns % length != 0 || has_turned_rows(segment)) return 0;
  // Tiles of several rows cannot go piece by piece.
  if (length < columns && columns < most_tile_elements) return 0;
  prepared->pieces = columns / length;
  int64_t pieces = prepared->pieces > 1 ? prepared->pieces : fewest_rows(columns);
  prepared->pieced = pieced_operands(segment, length, &pieces);
  if (prepared->pieced.empty() || pieces % prepared->pieces != 0) {
    prepared->pieced.clear();
    prepared->pieces = 1;
    return 0;
  }
  return pieces / prepared->pieces;
}

PreparedProgram prepare_rows(const FusedProgram& fused, const Segment& segment,
                             const std::vector<Buffer>& buffers, std::vector<int16_t> streamed,
                             bool in_tiles, bool whole_rows = true) {
  PreparedProgram prepared;
  prepared.totals = fused.totals;
  if (fused.totals.empty() && !in_tiles) prepared.narrow = narrow_operands(fused.program, segment);
  if (!prepared.narrow.empty()) {
    prepared.turned =
        std::make_shared<Program>(in_registers(fused.program, segment, prepared.narrow));
    streamed.clear();
  }
  const Program& program = prepared.is_turned() ? *prepared.turned : fused.program;
  int64_t even = 0;
  if (!in_tiles && !prepared.is_turned()) even = find_pieces(segment, &prepared);
  prepared = prepare_steps(program, segment, std::move(streamed), std::move(prepared), whole_rows);
  prepared.pools = only_pools(prepared);
  prepared.slides = only_slides(prepared);
  int64_t columns = std::max<int64_t>(segment.columns, 1);
  int64_t rows = std::max<int64_t>(1, most_tile_elements / columns);
  if (even > 0) {
    rows = even;
  } else if (prepared.is_turned()) {
    const int64_t share = divide_up<int64_t>(segment.rows, 4 * thread_count());
    rows = std::max(2 * rows, std::min(fewest_narrow_rows, share));
  } else {
    rows = std::max(rows, rows_together(prepared, segment, columns));
  }
  for (const NarrowOperand& operand : prepared.narrow) rows = whole_lines(operand, rows);
  if (has_turned_rows(segment)) {
    rows = std::max(rows, std::min(turned_rows, most_turned_elements / columns));
  }
  set_tiles(segment, rows, &prepared);
  prepared.walk = fused.totals.empty() ? Walk::rows : Walk::totals;
  prepared.grain = std::max(rows, grain_work / all_work_of(program) / columns);
  if (!in_tiles) find_parts(segment, &prepared);
  fetch_ahead({segment}, buffers, &prepared);
  return prepared;
}

}  // namespace

PreparedProgram prepare_tiles(const Program& program, const Segment& segment, int64_t tile_rows,
                              Reduced reduced) {
  PreparedProgram prepared;
  prepared.reduced = reduced;
  prepared = prepare_steps(program, segment, {}, std::move(prepared));
  set_tiles(segment, tile_rows, &prepared);
  return prepared;
}

PreparedProgram prepare_program(const FusedProgram& fused, const std::vector<Buffer>& buffers,
                                bool in_tiles, int64_t row_elements) {
  const Program& program = fused.program;
  const std::vector<Segment>& segments = fused.segments;
  const Segment& first = segments[0];
  std::vector<int16_t> streamed;
  // Totals leave no room in the first-level cache for what is copied from there to memory.
  if (!in_tiles && fused.totals.empty()) streamed = streamed_by(program, segments, buffers);
  if (segments.size() == 1 && (first.columns != 1 || !fused.totals.empty())) {
    return prepare_rows(fused, first, buffers, std::move(streamed), in_tiles);
  }
  PanelOrder panels;
  if (segments.size() == 1 && (!in_tiles || row_elements > 0)) {
    if (!in_tiles) panels = panel_order(first);
    int64_t columns = columns_of(first);
    if (columns == 0 && !in_tiles && panels.memory < 0) columns = uneven_columns_of(first);
    if (panels.memory < 0 && columns > 0 && (!in_tiles || columns == row_elements)) {
      Segment segment = first;
      segment.columns = columns;
      segment.rows = first.rows / columns;
      PreparedProgram prepared =
          prepare_rows(fused, segment, buffers, std::move(streamed), in_tiles, !in_tiles);
      if (!in_tiles || prepared.scratch_bytes <= stack_registers) {
        prepared.instead = std::move(segment);
        return prepared;
      }
    }
  }
  std::optional<Segment> in_order;
  const int result = panels.memory >= 0 ? only_result(program) : -1;
  if (result >= 0) {
    Segment segment = first;
    if (turn_result(result, &segment, &panels)) {
      streamed.clear();
      in_order = std::move(segment);
    }
  }
  PreparedProgram prepared =
      prepare_steps(program, in_order ? *in_order : first, std::move(streamed));
  prepared.instead = std::move(in_order);
  int64_t room = stack_registers /
                 static_cast<int64_t>(program.registers + 1 + prepared.streamed.size()) /
                 element_bytes(program);
  room = room / (room < 64 ? 16 : 64) * (room < 64 ? 16 : 64);  // whole cache lines
  const int64_t most = elements_in_cache(prepared, segments, buffers, most_tile_elements);
  set_tiles(first, std::clamp<int64_t>(room, 16, most), &prepared);
  for (size_t s = 0; s < segments.size(); ++s) {
    prepared.tiles += divide_up(segments[s].rows * segments[s].columns, prepared.tile_rows);
    prepared.same_numbers.push_back(s > 0 && same_numbers(program, segments[s - 1], segments[s]));
  }
  prepared.at_once = leaves_nothing(prepared, segments);
  prepared.grain = std::max<int64_t>(1, grain_work / all_work_of(program) / prepared.tile_rows);
  prepared.panels = panels;
  prepared.walk = panels.memory >= 0 ? Walk::panels : Walk::elements;
  if (prepared.walk == Walk::panels) {
    prepared.threads = thread_count();
    prepared.scratch_bytes += round_up(panel_bytes, cache_line);
  }
  fetch_ahead(segments, buffers, &prepared);
  return prepared;
}

}  // namespace mt::cpu
