// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/narrow.h"

#include <algorithm>

#include "backends/cpu/cache.h"
#include "backends/cpu/elementwise/kernels.h"
#include "backends/cpu/program/program.h"
#include "tensor/walker.h"

namespace mt::cpu {
namespace {

// Whether an instruction works on a transposed tile as on any other, or has a kernel for it.
bool turns(const Instruction& i) { return i.row || i.code != Opcode::random; }

// Most columns of rows that are transposed though they lie in order, where elements are computed,
// and where anything but doubles goes through at least `many` operators and reductions.
constexpr int64_t most_computed = 8, most_computed_long = 12;
constexpr int64_t many = 6;

// Splits the dimensions of `layout` into those of the rows and those of the columns.
NarrowOperand part(const Layout& layout, int64_t columns) {
  NarrowOperand result;
  int last = layout.shape.rank();
  int64_t inner = 1;
  while (inner < columns) inner *= layout.shape[--last];
  // A dimension that rows and columns share is contiguous over both.
  const int64_t shared = inner / columns;
  Layout within{{}, {}, 0};
  result.rows = {Shape(layout.shape.data(), last), Strides(layout.strides.data(), last), 0};
  for (int d = last; d < layout.shape.rank(); ++d) {
    int64_t size = layout.shape[d];
    if (d == last && shared > 1) {
      size /= shared;
      result.rows.shape.push_back(shared);
      result.rows.strides.push_back(size * layout.strides[d]);
    }
    within.shape.push_back(size);
    within.strides.push_back(layout.strides[d]);
  }
  for (int64_t column = 0; column < columns; ++column) {
    result.columns.push_back(locate(within, column));
  }
  result.rows = collapse(result.rows);
  result.repeated = std::all_of(result.columns.begin(), result.columns.end(),
                                [](int64_t position) { return position == 0; });
  return result;
}

// Whether rows lie in pieces, so that reading them in order takes a jump for each, or overlap.
bool is_scattered(const Memory& memory, int64_t columns) {
  const Layout& layout = memory.layout;
  if (memory.contiguous || layout.shape.empty()) return false;
  const int last = layout.shape.rank() - 1;
  const int64_t step = last > 0 ? layout.strides[last - 1] : 0;
  const bool overlap = step > 0 && step < layout.shape[last];
  // One number repeated along a row fills vectors wherever the row does. (AVX2 has no masks for the
  // remainders of rows of narrower elements.)
  const bool repeats = layout.strides[last] == 0 && layout.shape[last] == columns;
  if (repeats && size_of(memory.dtype) >= 4) return columns <= most_computed;
  return layout.strides[last] != 1 || layout.shape[last] < columns || overlap;
}

// The longest rows that are transposed though they lie in order, since they would leave most of a
// vector empty: longer ones pay where elements are computed rather than only reduced.
int64_t longest_in_order(const Program& program) {
  const auto begin = program.instructions.begin() + program.once, end = program.instructions.end();
  if (std::none_of(begin, end,
                   [](const Instruction& i) { return !i.row && i.code != Opcode::load; })) {
    return 4;
  }
  const auto computing = std::count_if(
      begin, end, [](const Instruction& i) { return is_operator(i) || i.code == Opcode::reduce; });
  const bool doubles =
      std::any_of(begin, end, [](const Instruction& i) { return i.type == Compute::f64; });
  return computing >= many && !doubles ? most_computed_long : most_computed;
}

}  // namespace

std::vector<NarrowOperand> narrow_operands(const Program& program, const Segment& segment) {
  const int64_t columns = segment.columns;
  if (columns < 2 || columns > narrow_columns || segment.rows < narrow_columns) return {};
  if (!segment.margins.empty()) return {};
  const bool is_short = columns <= longest_in_order(program);
  bool scattered = false;
  for (size_t at = program.once; at < program.instructions.size(); ++at) {
    const Instruction& i = program.instructions[at];
    if (!turns(i)) return {};
    auto reads = [&](int16_t index) {
      const Memory& memory = segment.memory[static_cast<size_t>(index)];
      scattered |= (is_short && !memory.row) || is_scattered(memory, columns);
    };
    for (int16_t in : i.in) {
      if (in != no_place && in < 0) reads(static_cast<int16_t>(~in));
    }
    if (i.code == Opcode::load && !i.row) reads(i.index);
  }
  if (!scattered) return {};
  std::vector<NarrowOperand> operands;
  size_t bytes = 0;
  for (const Memory& memory : segment.memory) {
    const int64_t elements = element_count(memory.layout.shape);
    const bool parted = !memory.row && elements == segment.rows * columns;
    operands.push_back(parted ? part(memory.layout, columns) : NarrowOperand{});
    if (parted && memory.buffer >= 0)
      bytes += static_cast<size_t>(elements) * size_of(memory.dtype);
  }
  for (NarrowOperand& operand : operands) {
    const Layout& rows = operand.rows;
    const bool runs = rows.shape.rank() > 0 && rows.strides.back() == 1 && !operand.repeated;
    operand.ahead = runs && bytes > second_cache;
  }
  return operands;
}

Program in_registers(const Program& program, const Segment& segment,
                     const std::vector<NarrowOperand>& operands) {
  Program result = program;
  result.instructions.clear();
  std::vector<int16_t> registers(segment.memory.size(), no_place);
  // Instead of a register that holds one number for each row: an operator that reads it for every
  // column may write its result to the same register.
  std::vector<int16_t> own(static_cast<size_t>(program.registers), no_place);
  auto register_of = [&](int16_t memory) {
    int16_t& at = registers[static_cast<size_t>(memory)];
    if (at == no_place) at = static_cast<int16_t>(result.registers++);
    return at;
  };
  auto is_element = [&](int16_t place) {
    return place != no_place && place < 0 && !segment.memory[static_cast<size_t>(~place)].row;
  };
  auto add = [&](Opcode code, int16_t place) -> Instruction& {
    const Dtype dtype = segment.memory[static_cast<size_t>(~place)].dtype;
    Instruction added{.code = code, .type = compute_of(dtype)};
    added.dtype = dtype;
    added.index = static_cast<int16_t>(~place);
    return result.instructions.emplace_back(added);
  };
  for (Instruction i : program.instructions) {
    for (int16_t& in : i.in) {
      if (in >= 0 && own[static_cast<size_t>(in)] != no_place) in = own[static_cast<size_t>(in)];
      if (!is_element(in)) continue;
      int16_t& at = registers[static_cast<size_t>(~in)];
      if (at == no_place) {
        at = static_cast<int16_t>(result.registers++);
        add(Opcode::load, in).out = at;
      }
      in = at;
    }
    const int16_t out = i.out;
    if (out >= 0) {
      const bool shared =
          i.code == Opcode::load && !i.row && operands[static_cast<size_t>(i.index)].repeated;
      own[static_cast<size_t>(out)] = shared ? register_of(i.index) : no_place;
      if (shared) i.out = register_of(i.index);
    }
    if (!is_element(out)) {
      result.instructions.push_back(i);
      continue;
    }
    const int16_t at = register_of(static_cast<int16_t>(~out));
    i.out = at;
    result.instructions.push_back(i);
    add(Opcode::store, out).in[0] = at;
  }
  return result;
}

bool are_pairs(const NarrowOperand& windows) {
  const std::vector<int64_t>& at = windows.columns;
  return at.size() == 4 && at[1] == at[0] + 1 && at[3] == at[2] + 1 &&
         windows.rows.shape.rank() > 0 && windows.rows.strides.back() == 2;
}

bool are_sliding(const NarrowOperand& windows) {
  const std::vector<int64_t>& at = windows.columns;
  if (at.size() < 2 || windows.rows.shape.rank() == 0 || windows.rows.strides.back() != 1) {
    return false;
  }
  for (size_t c = 2; c < at.size(); ++c) {
    if (at[c] - at[c - 1] != at[1] - at[0]) return false;
  }
  return true;
}

}  // namespace mt::cpu
