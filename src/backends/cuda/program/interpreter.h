// SPDX-License-Identifier: Apache-2.0
// A group's program, one instruction after another: what runs where no kernel has been generated.
// Its functions are not inlined, as that would be much code for a loop that waits on each step.
#pragma once

#include "backends/cuda/device/operators.h"
#include "backends/cuda/device/positions.h"
#include "ops/philox.h"
#include "plan/program.h"

namespace mt::cuda {

// Registers of one thread, for one element at a time.
template <int most>
struct LocalRegisters {
  Value values[most];
  __device__ Value get(int r) const { return values[r]; }
  __device__ void set(int r, Value value) { values[r] = value; }
};

// Registers of `stride` values each in device memory, of which a thread works on one column.
struct RowRegisters {
  Value* values;
  int64_t stride, column;
  __device__ Value get(int r) const { return load(values, r * stride + column); }
  __device__ void set(int r, Value value) { store(values, r * stride + column, value); }
};

// The value at a place, for element `at`.
template <class Registers>
__device__ Value read_place(const SegmentView& segment, const Registers& registers, int place,
                            int64_t at) {
  if (place >= 0) return registers.get(place);
  const MemoryView& memory = view(segment.memory, ~place);
  return load_number(memory.data, memory.dtype, at);
}
template <class Registers>
__device__ void write_place(const SegmentView& segment, Registers& registers, int place, int64_t at,
                            Value value) {
  if (place >= 0) return registers.set(place, value);
  const MemoryView& memory = view(segment.memory, ~place);
  store_number(memory.data, memory.dtype, at, value);
}

__device__ inline Value constant_number(const SegmentView& segment, const Instruction& i) {
  Value bits = view(segment.constants, i.index).value[0];
  double number = unpack<double>(bits);
  if (i.type == Compute::f32) bits = pack(static_cast<float>(number));
  if (i.type == Compute::i32) bits = pack(static_cast<int32_t>(bits));
  return round_number(i.dtype, bits);
}

__device__ inline Value random_number(const SegmentView& segment, const Instruction& i,
                                      int64_t at) {
  const ConstantView& key = view(segment.constants, i.index);
  uint64_t seed = key.value[0], stream = key.value[1], element = static_cast<uint64_t>(at);
  if (i.type == Compute::f32) return pack(philox_uniform32(seed, stream, element));
  if (i.type == Compute::f64) return pack(philox_uniform64(seed, stream, element));
  return philox_bits(seed, stream, element);
}

// What an instruction other than a store or a reduction gives for element `at`.
template <class Registers>
MT_NOINLINE __device__ Value evaluate(const SegmentView& segment, const Registers& registers,
                                      const Instruction& i, int64_t at) {
  auto input = [&](int k) { return read_place(segment, registers, i.in[k], at); };
  switch (i.code) {
    case Opcode::load: {
      const MemoryView& memory = view(segment.memory, i.index);
      int64_t from = memory.contiguous ? at : position(memory.layout, at);
      return load_number(memory.data, memory.dtype, from);
    }
    case Opcode::constant: return constant_number(segment, i);
    case Opcode::iota: {
      const MemoryView& memory = view(segment.memory, i.index);
      int64_t from = memory.offset + position(memory.layout, at);
      return round_number(i.dtype, convert_number(Compute::i64, i.type, pack(from)));
    }
    case Opcode::random: return random_number(segment, i, at);
    case Opcode::elementwise:
      return operate(i.from, i.detail, input(0), i.in[1] == no_place ? 0 : input(1));
    case Opcode::select: return unpack<int32_t>(input(0)) != 0 ? input(1) : input(2);
    case Opcode::cast: {
      const Value value = convert_number(i.from, i.type, input(0));
      const bool saturates = i.from == Compute::f32 || i.from == Compute::f64;
      return saturates ? saturated(i.dtype, value) : value;
    }
    case Opcode::to_boolean: return is_true(i.from, input(0));
    case Opcode::round: return round_number(i.dtype, input(0));
    default: return input(0);
  }
}

// The instructions that give one number for all elements.
template <class Registers>
MT_NOINLINE __device__ void run_once(const ProgramView& program, const SegmentView& segment,
                                     Registers& registers) {
  for (int k = 0; k < program.once; ++k) {
    const Instruction& i = view(program.instructions, k);
    write_place(segment, registers, i.out, 0, evaluate(segment, registers, i, 0));
  }
}

// All others up to `end`, for one element.
template <class Registers>
MT_NOINLINE __device__ void run_element(const ProgramView& program, const SegmentView& segment,
                                        Registers& registers, int64_t at, int end) {
  for (int k = program.once; k < end; ++k) {
    const Instruction& i = view(program.instructions, k);
    Value value = evaluate(segment, registers, i, at);
    int place = i.code == Opcode::store ? ~i.index : i.out;
    write_place(segment, registers, place, at, value);
  }
}

}  // namespace mt::cuda
