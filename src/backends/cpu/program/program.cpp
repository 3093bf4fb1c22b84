// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/program.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/elementwise/moments.h"
#include "backends/cpu/elementwise/normalize.h"
#include "backends/cpu/program/totals.h"
#include "backends/cpu/strided/padded.h"
#include "backends/cpu/strided/strided.h"
#include "base/rounding.h"
#include "ops/naive.h"
#include "ops/order.h"
#include "tensor/first_byte.h"
#include "tensor/walker.h"

namespace mt::cpu {
namespace {

template <class T>
void fill_with(void* out, T value, int64_t count) {
  std::fill_n(static_cast<T*>(out), count, value);
}

// Of a step with operate_all.
constexpr int most_operands = std::max<int>(moments::count, normalization::count);

// A stretch of the next tile's memory: what is still to be prefetched, and how much at a time.
struct Stretch {
  const char *at, *end;
  int64_t share;

  // Always inlined: gcc 12 treats a function that only prefetches as one without effect.
  [[gnu::always_inline]] void fetch(bool far) {
    const char* until = std::min(at + share, end);
    if (far) {
      for (; at < until; at += cache_line) __builtin_prefetch(at, 0, 2);
    } else {
      for (; at < until; at += cache_line) __builtin_prefetch(at);
    }
  }
};

// Reduces each row panel by panel, in the order of ops/order.h.
[[gnu::noinline]] void reduce_by_panels(const Step& step, const Input* in, char* out, int64_t rows,
                                        int64_t columns) {
  constexpr int64_t most = longest_row / row_panel;
  const Instruction& i = *step.instruction;
  const auto size = static_cast<int64_t>(size_of(i.type));
  const Operator combine = elementwise_operator(combiner(static_cast<Reduction>(i.detail)), i.type);
  for (int64_t r = 0; r < rows; ++r, out += size) {
    alignas(8) char results[most * 8];
    int64_t panels = 0;
    for (int64_t first = 0; first < columns; first += row_panel, ++panels) {
      Input part[4];
      for (int k = 0; k < 4 && step.in[k].place != no_place; ++k) {
        part[k] = in[k];
        part[k].data =
            static_cast<const char*>(in[k].data) + r * in[k].pitch + panels * step.in[k].panel;
      }
      step.operate(results + panels * size, part, 1, std::min(row_panel, columns - first));
    }
    combine_panels(combine, results, panels, 1, size);
    std::memcpy(out, results, static_cast<size_t>(size));
  }
}

void operate(const Step& step, Input* in, char* out, int64_t rows, int64_t columns,
             int64_t pieces) {
  switch (step.traversal) {
    case Traversal::row_values: step.operate(out, in, 1, rows); break;
    case Traversal::flat: step.operate(out, in, 1, rows * columns); break;
    case Traversal::rows:
    case Traversal::few: step.operate(out, in, rows, columns); break;
    case Traversal::pieces: step.operate(out, in, rows * pieces, columns / pieces); break;
    case Traversal::total:
      for (int64_t r = 0; r < rows; ++r) {
        step.operate(out, in, 1, columns);
        for (int k = 0; k < 3; ++k) in[k].data = static_cast<const char*>(in[k].data) + in[k].pitch;
      }
      break;
    case Traversal::columns: step.operate(out, in, columns, rows); break;
    case Traversal::panels: reduce_by_panels(step, in, out, rows, columns); break;
  }
}

}  // namespace

ProgramRun::ProgramRun(const PreparedProgram& prepared, const Segment& segment,
                       void* const* buffers, const Immediates* immediates, char* registers,
                       int64_t tile_rows, int64_t column_begin, int64_t columns)
    : prepared_(prepared),
      segment_(&segment),
      buffers_(buffers),
      immediates_(immediates),
      column_begin_(column_begin),
      columns_(columns),
      registers_(static_cast<int>(prepared.slots.size())) {
  Place* place = places_;
  for (int64_t slot : prepared.slots) *place++ = {registers + slot, 0};
  place_memory();
  fill_numbers(tile_rows);
}

void ProgramRun::place_memory() {
  Place* place = places_ + registers_;
  for (const Memory& memory : segment_->memory) {
    int64_t size = static_cast<int64_t>(size_of(memory.dtype));
    char* base = memory.buffer < 0
                     ? nullptr
                     : static_cast<char*>(buffers_[memory.buffer]) + first_byte(memory);
    bool pitched = !memory.row && !memory.contiguous && memory.layout.shape.rank() == 2;
    int64_t step = memory.row ? 1 : pitched ? memory.layout.strides[0] : segment_->columns;
    *place++ = {base + column_bytes(memory), step * size};
  }
}

void ProgramRun::fill_numbers(int64_t tile_rows) {
  const Program& program = *prepared_.program;
  for (int i = 0; i < program.once; ++i) {
    const Instruction& instruction = program.instructions[i];
    fill(instruction, tile_rows);
    if (prepared_.compact[i]) {
      char* number = places_[instruction.out].base;
      const void* in[1] = {number};
      store_kernel(instruction.dtype)(number, in, 1);
    }
  }
}

int64_t ProgramRun::column_bytes(const Memory& memory) const {
  if (column_begin_ == 0 || memory.row) return 0;
  const Layout& layout = memory.layout;
  const bool even = layout.shape.rank() == 2 && layout.shape[1] == segment_->columns;
  const int64_t stride = memory.contiguous ? 1 : even ? layout.strides[1] : 0;
  return column_begin_ * stride * static_cast<int64_t>(size_of(memory.dtype));
}

const char* ProgramRun::first_element(int16_t index) const {
  const Memory& memory = segment_->memory[index];
  return address(static_cast<int16_t>(~index), 0) - column_bytes(memory);
}

void ProgramRun::find_pieces(int64_t first) {
  for (size_t m = 0; m < prepared_.pieced.size(); ++m) {
    const PiecedOperand& operand = prepared_.pieced[m];
    if (!operand.is_read) continue;
    const Memory& memory = segment_->memory[m];
    const int64_t length = segment_->columns / prepared_.pieces;
    int64_t position = locate(operand.pieces, first * prepared_.pieces + column_begin_ / length);
    // A part of a row may begin within a piece.
    if (!operand.repeated) position += column_begin_ % length;
    places_[registers_ + static_cast<int>(m)] = {
        static_cast<char*>(buffers_[memory.buffer]) + first_byte(memory) +
            position * static_cast<int64_t>(size_of(memory.dtype)),
        0};
  }
}

// Fills a register that holds one number for all tiles: the number alone, or repeated over a tile
// for steps that cannot read a single number.
void ProgramRun::fill(const Instruction& i, int64_t tile_rows) {
  char* out = places_[i.out].base;
  int64_t count = !prepared_.filled[i.out] ? 1 : i.row ? tile_rows : tile_rows * columns_;
  if (i.code == Opcode::load) {
    const void* in[1] = {first_element(i.index)};
    alignas(8) char one[8];
    load_kernel(i.dtype)(one, in, 1);
    if (size_of(i.type) == 4) {
      fill_with(out, *reinterpret_cast<uint32_t*>(one), count);
    } else {
      fill_with(out, *reinterpret_cast<uint64_t*>(one), count);
    }
    return;
  }
  uint64_t bits = immediates_[segment_->constants[i.index]].value[0];
  double number = __builtin_bit_cast(double, bits);
  switch (i.type) {
    case Compute::f32: fill_with(out, static_cast<float>(number), count); break;
    case Compute::f64: fill_with(out, number, count); break;
    case Compute::i32: fill_with(out, static_cast<int32_t>(bits), count); break;
    default: fill_with(out, bits, count); break;
  }
  if (needs_rounding(i.dtype)) {
    const void* in[1] = {out};
    round_kernel(i.dtype)(out, in, count);
  }
}

void ProgramRun::load(const Step& step, char* out, int64_t first, int64_t count) {
  const Instruction& i = *step.instruction;
  const Memory& memory = segment_->memory[i.index];
  if (i.code == Opcode::iota) {
    // Positions may themselves be a stored result; `out` then lies in memory.
    if (prepared_.is_turned() && !memory.row) {
      count_turned(out, i, first, count);
    } else {
      strided_positions(out, size_of(i.type), memory.layout, first, count);
    }
    if (step.convert) {
      const void* in[1] = {out};
      step.convert(out, in, count);
    }
    return;
  }
  const char* base = first_element(i.index);
  const void* in[1] = {base + first * static_cast<int64_t>(size_of(memory.dtype))};
  // Without a conversion the value stays as it is stored.
  bool native =
      !step.convert || (memory.dtype != Dtype::boolean && size_of(memory.dtype) == size_of(i.type));
  const bool turned = prepared_.is_turned() && !memory.row;
  if (!memory.contiguous || turned) {
    // An extra register holds gathered elements that must still be converted.
    size_t size = size_of(memory.dtype);
    char* gathered = native ? out : places_[prepared_.program->registers].base;
    if (panel_ && i.index == prepared_.panels.memory) {
      int64_t row = (first - panel_first_) / prepared_.panels.columns;
      const char* from = panel_ + row * prepared_.panels.pitch() * static_cast<int64_t>(size);
      copy_bytes(gathered, from, size * static_cast<size_t>(count));
    } else if (turned && step.traversal == Traversal::row_values) {  // the same for all columns
      count /= segment_->columns;
      gather_strided(gathered, base, size, prepared_.narrow[i.index].rows,
                     first / segment_->columns, count);
    } else if (turned) {
      gather_turned(gathered, base, i.index, first, count);
    } else if (memory.is_padded()) {
      load_padded(gathered, base, memory, first, count);
    } else {
      gather_strided(gathered, base, size, memory.layout, first, count);
    }
    if (native) return;
    in[0] = gathered;
  }
  step.convert(out, in, count);
}

void ProgramRun::load_padded(char* out, const char* base, const Memory& memory, int64_t first,
                             int64_t count) const {
  const Margins& margins = segment_->margins[memory.margins];
  uint64_t constant = 0;
  mt::fill({&constant, memory.dtype, {}}, immediates_[segment_->constants[margins.constant]]);
  gather_padded(out, base, size_of(memory.dtype), memory.layout, margins, &constant, first, count);
}

void ProgramRun::read_panel(void* panel, int64_t first, int64_t rows, int64_t columns) {
  const Memory& memory = segment_->memory[prepared_.panels.memory];
  const char* base = places_[registers_ + prepared_.panels.memory].base;
  fill_panel(panel, base, size_of(memory.dtype), memory.layout, prepared_.panels, first, rows,
             columns);
  panel_ = static_cast<const char*>(panel);
  panel_first_ = first;
}

void ProgramRun::read_block(void* block, int64_t first, int64_t count) {
  const Memory& memory = segment_->memory[prepared_.panels.memory];
  gather_strided(block, places_[registers_ + prepared_.panels.memory].base, size_of(memory.dtype),
                 memory.layout, first, count);
  panel_ = static_cast<const char*>(block);
  panel_first_ = first;
}

void ProgramRun::execute(const Step& step, int64_t first, int64_t rows) {
  const Instruction& i = *step.instruction;
  const int64_t columns = columns_;
  const int64_t count = i.row ? rows : rows * columns;
  const int64_t first_value = i.row ? first : first * segment_->columns + column_begin_;
  if (i.code == Opcode::load || i.code == Opcode::iota) {
    load(step, address(step.out, first), first_value, count);
    return;
  }
  if (i.code == Opcode::store && !i.row && prepared_.is_turned()) {
    return store_turned(step, first, rows);
  }
  char* out = address(step.out, first);
  if (i.code == Opcode::reduce) {  // of rows that lie in runs
    const int16_t m = static_cast<int16_t>(~step.in[0].place);
    const auto size = static_cast<int64_t>(size_of(i.type));
    for (int64_t r = 0; r < rows; ++r) {
      reduce_runs(prepared_.runs[m], static_cast<Reduction>(i.detail), i.type, first_element(m),
                  (first + r) * columns, columns, out + r * size);
    }
    return;
  }
  if (step.draw) {
    const Immediates& key = immediates_[segment_->constants[i.index]];
    step.draw(out, {key.value[0], key.value[1]}, static_cast<uint64_t>(first_value), count);
    return;
  }
  const void* in[1] = {address(step.in[0].place, first)};
  if (step.expand && !prepared_.is_turned()) {
    step.expand(out, in[0], rows, columns);
  } else if (step.expand) {
    const size_t bytes = static_cast<size_t>(rows) * size_of(i.type);
    for (int64_t c = 0; c < columns; ++c)
      copy_bytes(out + c * static_cast<int64_t>(bytes), in[0], bytes);
  } else {
    step.convert(out, in, count);
  }
}

void ProgramRun::operate_all(const Step& step, int64_t first, int64_t rows) {
  Input in[most_operands];
  for (size_t k = 0; k < step.all.size(); ++k) {
    const Source& source = step.all[k];
    const bool is_there = source.place != no_place;
    in[k] = {is_there ? address(source.place, first) : nullptr, source.pitch};
  }
  char* out = address(step.out, first);
  if (step.traversal == Traversal::flat) {
    step.operate_all(out, in, 1, rows * columns_);
  } else {
    step.operate_all(out, in, rows, columns_);
  }
}

void ProgramRun::run(int64_t first, int64_t rows, int64_t next, int64_t ahead) {
  if (prepared_.pools) return pool(first, rows);
  if (prepared_.slides) return slide(first, rows);
  const int64_t columns = columns_;
  // Each step over all elements prefetches a few lines while it computes.
  Stretch stretches[most_ahead];
  int fetched = 0;
  for (size_t s = 0; ahead > 0 && s < prepared_.ahead.size(); ++s) {
    int16_t m = prepared_.ahead[s];
    int64_t size = static_cast<int64_t>(size_of(segment_->memory[m].dtype));
    int64_t bytes = ahead * columns * size, steps = prepared_.long_steps;
    const char* at = address(static_cast<int16_t>(~m), next);
    int64_t share = round_up(bytes / steps, cache_line);
    stretches[fetched++] = {at, at + bytes, share};
  }
  const int64_t pitches = prepared_.is_turned() ? rows : 1;
  find_pieces(first);
  Input in[4];  // each step fills in those that it reads
  const Step *step = prepared_.steps.data(), *end = step + prepared_.steps.size();
  const bool in_parts = prepared_.part > 0;
  const Step* until = in_parts ? step + prepared_.first_in_parts : end;
  int64_t pieces = prepared_.pieces;
  while (true) {
    for (; step != until; ++step) {
      for (int s = 0; s < fetched && step->is_long(); ++s) {
        stretches[s].fetch(prepared_.far_ahead);
      }
      if (!step->operate) {
        step->operate_all ? operate_all(*step, first, rows) : execute(*step, first, rows);
        continue;
      }
      for (int k = 0; k < 4 && step->in[k].place != no_place; ++k) {
        const Source& source = step->in[k];
        in[k] = {address(source.place, first), source.pitch * pitches, source.repeated};
      }
      in[0].ahead = step->further;
      if (ahead > 0 && step->fetched >= 0) {
        const char* coming = address(static_cast<int16_t>(~step->fetched), next);
        in[0].ahead = reinterpret_cast<intptr_t>(coming) - reinterpret_cast<intptr_t>(in[0].data);
      }
      operate(*step, in, address(step->out, first), rows, columns_, pieces);
    }
    if (!in_parts || !next_part(first)) return;
    step = prepared_.steps.data() + prepared_.first_in_parts;
    until = end;
    pieces = columns_ * prepared_.pieces / segment_->columns;
  }
}

bool ProgramRun::next_part(int64_t row) {
  const int64_t all = segment_->columns;
  const bool begins = columns_ == all;
  const int64_t begin = begins ? 0 : column_begin_ + columns_;
  const bool ends = begin == all;
  for (const PreparedProgram::Carried& carried : prepared_.carried) {
    places_[carried.place].base += ((ends ? 0 : begin) - column_begin_) * carried.element;
  }
  column_begin_ = ends ? 0 : begin;
  columns_ = ends ? all : std::min(prepared_.part, all - begin);
  place_memory();
  if (!ends) find_pieces(row);
  return !ends;
}

}  // namespace mt::cpu
