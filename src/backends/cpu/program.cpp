// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"

namespace mt::cpu {
namespace {

// A tile of an element-wise program; large enough to hide the dispatch of an instruction, small
// enough for a handful of them to stay in the first cache.
constexpr int64_t most_tile_elements = 1024;
// Instructions times elements below which a second worker costs more than it brings.
constexpr int64_t grain_work = 64 << 10;

Kernel kernel_for(const Instruction& i) {
  switch (i.code) {
    case Opcode::elementwise:
      return elementwise_kernel(static_cast<Elementwise>(i.detail), i.from);
    case Opcode::select:
      return select_kernel(i.type);
    case Opcode::cast:
      return cast_kernel(i.from, i.type);
    case Opcode::to_boolean:
      return to_boolean_kernel(i.from);
    case Opcode::round:
      return round_kernel(i.dtype);
    case Opcode::load:
      return load_kernel(i.dtype);
    case Opcode::store:
      return store_kernel(i.dtype);
    case Opcode::constant:
      return needs_rounding(i.dtype) ? round_kernel(i.dtype) : nullptr;
    default:
      return nullptr;
  }
}

int64_t element_bytes(const Program& program) { return program.wide ? 8 : 4; }

bool works_on_rows(const std::vector<Segment>& segments) {
  return segments.size() == 1 && segments[0].columns != 1;
}

template <class T>
void fill_with(void* out, T value, int64_t count) {
  std::fill_n(static_cast<T*>(out), count, value);
}

}  // namespace

int64_t PreparedProgram::scratch_bytes() const { return (program->registers + 1) * register_bytes; }

PreparedProgram prepare_tiles(const Program& program, int64_t columns, int64_t tile_rows) {
  PreparedProgram prepared;
  prepared.program = &program;
  prepared.threads = thread_count();
  prepared.end = program.instructions.size();
  for (const Instruction& i : program.instructions) prepared.kernels.push_back(kernel_for(i));
  prepared.tile_rows = tile_rows;
  prepared.register_bytes = (tile_rows * columns * element_bytes(program) + 63) / 64 * 64;
  return prepared;
}

PreparedProgram prepare_program(const Program& program, const std::vector<Segment>& segments) {
  int64_t cost = static_cast<int64_t>(program.instructions.size()) + 1;
  if (works_on_rows(segments)) {
    int64_t columns = std::max<int64_t>(segments[0].columns, 1);  // rows may be empty
    int64_t rows = std::max<int64_t>(1, most_tile_elements / columns);
    PreparedProgram prepared = prepare_tiles(program, columns, rows);
    prepared.by_rows = true;
    prepared.grain = std::max(rows, grain_work / cost / columns);
    return prepared;
  }
  int64_t room = stack_registers / (program.registers + 1) / element_bytes(program);
  room = room / (room < 64 ? 16 : 64) * (room < 64 ? 16 : 64);  // whole cache lines
  PreparedProgram prepared =
      prepare_tiles(program, 1, std::clamp<int64_t>(room, 16, most_tile_elements));
  for (const Segment& segment : segments) {
    prepared.tiles +=
        (segment.rows * segment.columns + prepared.tile_rows - 1) / prepared.tile_rows;
  }
  prepared.grain = std::max<int64_t>(1, grain_work / cost / prepared.tile_rows);
  if (segments.size() == 1) prepared.panels = panel_order(segments[0]);
  return prepared;
}

ProgramRun::ProgramRun(const PreparedProgram& prepared, const Segment& segment,
                       void* const* buffers, const Immediates* immediates, char* registers,
                       int64_t tile_rows)
    : prepared_(prepared),
      segment_(segment),
      immediates_(immediates),
      registers_(prepared.program->registers + 1) {
  for (int r = 0; r < registers_; ++r) {
    places_[r] = {registers + r * prepared.register_bytes, 0};
  }
  Place* place = places_ + registers_;
  for (const Memory& memory : segment.memory) {
    int64_t size = static_cast<int64_t>(size_of(memory.dtype));
    char* base = memory.buffer < 0
                     ? nullptr
                     : static_cast<char*>(buffers[memory.buffer]) + memory.layout.offset * size;
    *place++ = {base, memory.row ? size : size * segment.columns};
  }
  const Program& program = *prepared.program;
  for (int i = 0; i < program.once; ++i) {
    fill(program.instructions[static_cast<size_t>(i)], tile_rows);
  }
}

// A register in which every element is the same number, for all tiles.
void ProgramRun::fill(const Instruction& i, int64_t tile_rows) {
  char* out = places_[i.out].base;
  int64_t count = i.row ? tile_rows : tile_rows * segment_.columns;
  if (i.code == Opcode::load) {
    const void* in[1] = {address(static_cast<int16_t>(~i.index), 0)};
    alignas(8) char one[8];
    load_kernel(i.dtype)(one, in, 1);
    if (size_of(i.type) == 4) {
      fill_with(out, *reinterpret_cast<uint32_t*>(one), count);
    } else {
      fill_with(out, *reinterpret_cast<uint64_t*>(one), count);
    }
    return;
  }
  uint64_t bits = immediates_[segment_.constants[static_cast<size_t>(i.index)]].value[0];
  double number = __builtin_bit_cast(double, bits);
  switch (i.type) {
    case Compute::f32:
      fill_with(out, static_cast<float>(number), count);
      break;
    case Compute::f64:
      fill_with(out, number, count);
      break;
    case Compute::i32:
      fill_with(out, static_cast<int32_t>(bits), count);
      break;
    default:
      fill_with(out, bits, count);
      break;
  }
  if (needs_rounding(i.dtype)) {
    const void* in[1] = {out};
    round_kernel(i.dtype)(out, in, count);
  }
}

void ProgramRun::load(const Instruction& i, Kernel kernel, int64_t first, int64_t count) {
  const Memory& memory = segment_.memory[static_cast<size_t>(i.index)];
  if (i.code == Opcode::iota) {
    // May be a stored value itself, and then lies in memory.
    char* out = address(i.out, i.row ? first : first / std::max<int64_t>(segment_.columns, 1));
    strided_positions(out, size_of(i.type), memory.layout, first, count);
    if (needs_rounding(i.dtype)) {
      const void* in[1] = {out};
      round_kernel(i.dtype)(out, in, count);
    }
    return;
  }
  char* out = places_[i.out].base;
  const char* base = address(static_cast<int16_t>(~i.index), 0);
  const void* in[1] = {base + first * static_cast<int64_t>(size_of(memory.dtype))};
  bool native = memory.dtype != Dtype::boolean && size_of(memory.dtype) == size_of(i.type);
  if (!memory.contiguous) {
    // The last register is for gathering what must still be converted.
    size_t size = size_of(memory.dtype);
    char* gathered = native ? out : places_[registers_ - 1].base;
    if (panel_ && i.index == prepared_.panels.memory) {
      int64_t row = (first - panel_first_) / prepared_.panels.columns;
      const char* from = panel_ + row * panel_pitch * static_cast<int64_t>(size);
      std::memcpy(gathered, from, size * static_cast<size_t>(count));
    } else {
      gather_strided(gathered, base, size, memory.layout, first, count);
    }
    if (native) return;
    in[0] = gathered;
  }
  kernel(out, in, count);
}

void ProgramRun::read_panel(void* panel, int64_t first, int64_t rows, int64_t columns) {
  const Memory& memory = segment_.memory[static_cast<size_t>(prepared_.panels.memory)];
  const char* base = places_[registers_ + prepared_.panels.memory].base;
  fill_panel(panel, base, size_of(memory.dtype), memory.layout, first, rows, columns);
  panel_ = static_cast<const char*>(panel);
  panel_first_ = first;
}

void ProgramRun::execute(const Instruction& i, Kernel kernel, int64_t first, int64_t rows) {
  int64_t columns = segment_.columns;
  int64_t count = i.row ? rows : rows * columns;
  switch (i.code) {
    case Opcode::load:
    case Opcode::iota:
      load(i, kernel, i.row ? first : first * columns, count);
      break;
    case Opcode::constant:
      break;
    case Opcode::random: {
      const Immediates& key = immediates_[segment_.constants[static_cast<size_t>(i.index)]];
      RandomSource source = is_floating(i.dtype) ? uniform_source(i.type) : bits_source();
      source(address(i.out, first), {key.value[0], key.value[1]},
             static_cast<uint64_t>(i.row ? first : first * columns), count);
      break;
    }
    case Opcode::reduce:
      row_reduction(static_cast<Reduction>(i.detail), i.type)(
          address(i.out, first), address(i.in[0], first), rows, columns);
      break;
    case Opcode::expand:
      row_expansion(size_of(i.type))(address(i.out, first), address(i.in[0], first), rows, columns);
      break;
    case Opcode::store: {
      const void* in[1] = {address(i.in[0], first)};
      kernel(address(static_cast<int16_t>(~i.index), first), in, count);
      break;
    }
    default: {
      const void* in[3];
      for (int k = 0; k < 3 && i.in[k] != no_place; ++k) in[k] = address(i.in[k], first);
      kernel(address(i.out, first), in, count);
    }
  }
}

void ProgramRun::run(int64_t first, int64_t rows) {
  const Program& program = *prepared_.program;
  for (size_t i = static_cast<size_t>(program.once); i < prepared_.end; ++i) {
    execute(program.instructions[i], prepared_.kernels[i], first, rows);
  }
}

namespace {

void run_panels(const PreparedProgram& prepared, const Segment& segment, void* const* buffers,
                const Immediates* immediates) {
  const PanelOrder& order = prepared.panels;
  int64_t width = std::min({prepared.tile_rows, panel_columns, order.columns});
  int64_t blocks = order.blocks_of_rows();
  int64_t grain =
      std::max<int64_t>(1, prepared.grain * prepared.tile_rows / (panel_rows * order.columns));
  parallel_for(order.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    alignas(64) char registers[stack_registers];
    alignas(64) char panel[panel_bytes];
    ProgramRun run(prepared, segment, buffers, immediates, registers, width);
    for (int64_t block = begin; block < end; ++block) {
      int64_t row = block % blocks * panel_rows, rows = std::min(panel_rows, order.rows - row);
      int64_t first = (block / blocks * order.rows + row) * order.columns;
      for (int64_t column = 0; column < order.columns; column += width) {
        int64_t columns = std::min(width, order.columns - column);
        run.read_panel(panel, first + column, rows, columns);
        for (int64_t r = 0; r < rows; ++r) run.run(first + column + r * order.columns, columns);
      }
    }
  });
}

}  // namespace

void run_program(const PreparedProgram& prepared, const std::vector<Segment>& segments,
                 void* const* buffers, const Immediates* immediates, char* scratch) {
  int64_t tile = prepared.tile_rows;
  if (prepared.by_rows) {
    const Segment& segment = segments[0];
    parallel_workers(segment.rows, prepared.grain, prepared.threads,
                     [&](int worker, int64_t begin, int64_t end) {
                       ProgramRun run(prepared, segment, buffers, immediates,
                                      scratch + worker * prepared.scratch_bytes(),
                                      std::min(tile, end - begin));
                       for (int64_t row = begin; row < end; row += tile)
                         run.run(row, std::min(tile, end - row));
                     });
    return;
  }
  if (prepared.panels.memory >= 0) return run_panels(prepared, segments[0], buffers, immediates);
  // Element-wise: the segments' elements one after another, shared out in whole tiles.
  parallel_for(prepared.tiles, prepared.grain, [&](int64_t begin, int64_t end) {
    alignas(64) char registers[stack_registers];
    for (const Segment& segment : segments) {
      int64_t count = segment.rows * segment.columns, own = (count + tile - 1) / tile;
      int64_t from = std::max<int64_t>(begin, 0), to = std::min(end, own);
      begin -= own;
      end -= own;
      if (from >= to) continue;
      ProgramRun run(prepared, segment, buffers, immediates, registers, std::min(tile, count));
      for (int64_t t = from; t < to; ++t) {
        run.run(t * tile, std::min(tile, count - t * tile));
      }
    }
  });
}

}  // namespace mt::cpu
