// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program.h"

#include <algorithm>

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
    case Opcode::elementwise: return elementwise_kernel(static_cast<Elementwise>(i.detail), i.from);
    case Opcode::select: return select_kernel(i.type);
    case Opcode::cast: return cast_kernel(i.from, i.type);
    case Opcode::to_boolean: return to_boolean_kernel(i.from);
    case Opcode::round: return round_kernel(i.dtype);
    case Opcode::load: return load_kernel(i.dtype);
    case Opcode::store: return store_kernel(i.dtype);
    case Opcode::constant: return needs_rounding(i.dtype) ? round_kernel(i.dtype) : nullptr;
    default: return nullptr;
  }
}

int64_t element_bytes(const Program& program) { return program.wide ? 8 : 4; }

int64_t rows_in_tile(const Segment& segment, int64_t elements) {
  return std::max<int64_t>(1, elements / std::max<int64_t>(segment.columns, 1));
}

bool works_on_rows(const std::vector<Segment>& segments) {
  return segments.size() == 1 && segments[0].columns > 1;
}

template <class T>
void fill_with(void* out, T value, int64_t count) {
  std::fill_n(static_cast<T*>(out), count, value);
}

}  // namespace

ResolvedProgram::ResolvedProgram(const Program& program) : program_(&program) {
  for (const Instruction& i : program.instructions) kernels_.push_back(kernel_for(i));
}

int64_t ResolvedProgram::register_bytes(int64_t elements) const {
  return (elements * element_bytes(*program_) + 63) / 64 * 64;
}

int64_t ResolvedProgram::tile_elements(int64_t bytes, int64_t most) const {
  int64_t each = bytes / (program_->registers + 1) / element_bytes(*program_) / 64 * 64;
  return std::clamp<int64_t>(each, 64, most);
}

ProgramRun::ProgramRun(const ResolvedProgram& resolved, const Segment& segment,
                       void* const* buffers, const Immediates* immediates, char* registers,
                       int64_t tile_rows)
    : resolved_(resolved),
      segment_(segment),
      immediates_(immediates),
      registers_(registers),
      tile_rows_(tile_rows),
      register_bytes_(resolved.register_bytes(tile_rows * segment.columns)) {
  for (const Memory& memory : segment.memory) {
    bases_.push_back(memory.buffer < 0
                         ? nullptr
                         : static_cast<char*>(buffers[memory.buffer]) +
                               memory.layout.offset * static_cast<int64_t>(size_of(memory.dtype)));
  }
  const Program& program = resolved.program();
  for (int i = 0; i < program.once; ++i) fill(program.instructions[static_cast<size_t>(i)]);
}

char* ProgramRun::address(int16_t place) const {
  if (place >= 0) return registers_ + place * register_bytes_;
  const Memory& memory = segment_.memory[static_cast<size_t>(~place)];
  int64_t element = memory.row ? first_ : first_ * segment_.columns;
  return bases_[static_cast<size_t>(~place)] +
         element * static_cast<int64_t>(size_of(memory.dtype));
}

// A register in which every element is the same number, for all tiles.
void ProgramRun::fill(const Instruction& i) {
  char* out = registers_ + i.out * register_bytes_;
  int64_t count = i.row ? tile_rows_ : tile_rows_ * segment_.columns;
  if (i.code == Opcode::load) {
    const void* in[1] = {bases_[static_cast<size_t>(i.index)]};
    alignas(8) char one[8];
    load_kernel(i.dtype)(one, in, 1);
    if (size_of(i.type) == 4) {
      fill_with(out, *reinterpret_cast<uint32_t*>(one), count);
    } else {
      fill_with(out, *reinterpret_cast<uint64_t*>(one), count);
    }
    return;
  }
  uint64_t bits =
      immediates_[segment_.constants[static_cast<size_t>(i.index)]].value[0];
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

void ProgramRun::load(const Instruction& i, int64_t first, int64_t count) {
  const Memory& memory = segment_.memory[static_cast<size_t>(i.index)];
  char* out = address(i.out);
  if (i.code == Opcode::iota) {
    strided_positions(out, size_of(i.type), memory.layout, first, count);
    if (needs_rounding(i.dtype)) {
      const void* in[1] = {out};
      round_kernel(i.dtype)(out, in, count);
    }
    return;
  }
  const char* base = bases_[static_cast<size_t>(i.index)];
  const void* in[1] = {base + first * static_cast<int64_t>(size_of(memory.dtype))};
  bool native = memory.dtype != Dtype::boolean && size_of(memory.dtype) == size_of(i.type);
  if (!memory.contiguous) {
    // The last register is for gathering what must still be converted.
    char* gathered = native ? out : registers_ + resolved_.program().registers * register_bytes_;
    gather_strided(gathered, base, size_of(memory.dtype), memory.layout, first, count);
    if (native) return;
    in[0] = gathered;
  }
  load_kernel(i.dtype)(out, in, count);
}

void ProgramRun::execute(const Instruction& i, Kernel kernel, int64_t first, int64_t rows) {
  int64_t columns = segment_.columns;
  int64_t count = i.row ? rows : rows * columns;
  switch (i.code) {
    case Opcode::load:
    case Opcode::iota: load(i, i.row ? first : first * columns, count); break;
    case Opcode::constant: break;
    case Opcode::random: {
      const Immediates& key = immediates_[segment_.constants[static_cast<size_t>(i.index)]];
      RandomSource source = is_floating(i.dtype) ? uniform_source(i.type) : bits_source();
      source(address(i.out), {key.value[0], key.value[1]},
             static_cast<uint64_t>(i.row ? first : first * columns), count);
      break;
    }
    case Opcode::reduce:
      row_reduction(static_cast<Reduction>(i.detail), i.type)(address(i.out), address(i.in[0]),
                                                               rows, columns);
      break;
    case Opcode::expand:
      row_expansion(size_of(i.type))(address(i.out), address(i.in[0]), rows, columns);
      break;
    case Opcode::store: {
      const Memory& memory = segment_.memory[static_cast<size_t>(i.index)];
      const void* in[1] = {address(i.in[0])};
      int64_t at = i.row ? first : first * columns;
      kernel(bases_[static_cast<size_t>(i.index)] +
                 at * static_cast<int64_t>(size_of(memory.dtype)),
             in, count);
      break;
    }
    default: {
      const void* in[3];
      for (int k = 0; k < 3 && i.in[k] != no_place; ++k) in[k] = address(i.in[k]);
      kernel(address(i.out), in, count);
    }
  }
}

void ProgramRun::run(int64_t first, int64_t rows) {
  first_ = first;
  const Program& program = resolved_.program();
  for (size_t i = static_cast<size_t>(program.once); i < program.instructions.size(); ++i) {
    execute(program.instructions[i], resolved_.kernels()[i], first, rows);
  }
}

int64_t program_scratch(const Program& program, const std::vector<Segment>& segments) {
  if (!works_on_rows(segments)) return 0;
  ResolvedProgram resolved(program);
  int64_t rows = rows_in_tile(segments[0], most_tile_elements);
  return (program.registers + 1) * resolved.register_bytes(rows * segments[0].columns) *
         thread_count();
}

void run_program(const Program& program, const std::vector<Segment>& segments,
                 void* const* buffers, const Immediates* immediates, char* scratch) {
  ResolvedProgram resolved(program);
  int64_t cost = static_cast<int64_t>(program.instructions.size()) + 1;
  if (works_on_rows(segments)) {
    const Segment& segment = segments[0];
    int64_t tile_rows = rows_in_tile(segment, most_tile_elements);
    int64_t bytes =
        (program.registers + 1) * resolved.register_bytes(tile_rows * segment.columns);
    int64_t grain = std::max(tile_rows, grain_work / cost / segment.columns);
    parallel_workers(segment.rows, grain, [&](int worker, int64_t begin, int64_t end) {
      ProgramRun run(resolved, segment, buffers, immediates, scratch + worker * bytes, tile_rows);
      for (int64_t row = begin; row < end; row += tile_rows) {
        run.run(row, std::min(tile_rows, end - row));
      }
    });
    return;
  }
  // Element-wise: the segments' elements one after another, shared out in whole tiles.
  int64_t tile = resolved.tile_elements(stack_registers, most_tile_elements);
  int64_t tiles = 0;
  for (const Segment& segment : segments) tiles += (segment.rows + tile - 1) / tile;
  int64_t grain = std::max<int64_t>(1, grain_work / cost / tile);
  parallel_for(tiles, grain, [&](int64_t begin, int64_t end) {
    alignas(64) char registers[stack_registers];
    for (const Segment& segment : segments) {
      int64_t own = (segment.rows + tile - 1) / tile;
      int64_t from = std::max<int64_t>(begin, 0), to = std::min(end, own);
      begin -= own;
      end -= own;
      if (from >= to) continue;
      int64_t tile_rows = std::min(tile, segment.rows);
      ProgramRun run(resolved, segment, buffers, immediates, registers, tile_rows);
      for (int64_t t = from; t < to; ++t) {
        int64_t first = t * tile;
        run.run(first, std::min(tile, segment.rows - first));
      }
    }
  });
}

}  // namespace mt::cpu
