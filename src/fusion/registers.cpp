// SPDX-License-Identifier: Apache-2.0
#include "fusion/registers.h"

#include <algorithm>

namespace mt {
namespace {

bool in_compute_type(Dtype dtype) {
  return dtype != Dtype::boolean && size_of(dtype) == size_of(compute_of(dtype));
}

bool is_scalar(const Memory& memory) {
  for (int d = 0; d < memory.layout.shape.rank(); ++d) {
    if (memory.layout.strides[d] != 0 && memory.layout.shape[d] != 1) return false;
  }
  return true;
}

bool is_once(const Instruction& instruction, const Segment& segment) {
  if (instruction.code == Opcode::constant) return true;
  return instruction.code == Opcode::load &&
         is_scalar(segment.memory[static_cast<size_t>(instruction.index)]);
}

template <class F>
void for_inputs(Instruction& instruction, F&& f) {
  for (int16_t& in : instruction.in) {
    if (in != no_place) f(in);
  }
}

}  // namespace

bool may_alias(const Program& program, int store, int load) {
  int made = -1, last_use = -1, stored = no_place, loaded = no_place;
  for (const Instruction& i : program.instructions) {
    if (i.code == Opcode::store && i.index == store) stored = i.in[0];
    if (i.code == Opcode::load && i.index == load) loaded = i.out;
  }
  for (size_t at = 0; at < program.instructions.size(); ++at) {
    const Instruction& i = program.instructions[at];
    if (i.out == stored) made = static_cast<int>(at);
    if (i.code == Opcode::store && i.index == store) continue;
    for (int16_t in : i.in) {
      if (in != no_place && in == loaded) last_use = static_cast<int>(at);
    }
  }
  return stored != no_place && loaded != no_place && stored != loaded && last_use <= made;
}

void place_values(Program* program, const Segment& segment) {
  std::vector<Instruction>& code = program->instructions;
  std::stable_partition(code.begin(), code.end(),
                        [&](const Instruction& i) { return is_once(i, segment); });
  program->once = static_cast<int>(std::count_if(
      code.begin(), code.end(), [&](const Instruction& i) { return is_once(i, segment); }));

  size_t values = static_cast<size_t>(program->registers);
  std::vector<int16_t> place(values, no_place);
  std::vector<int> made(values, -1), last(values, -1);
  for (size_t at = 0; at < code.size(); ++at) {
    if (code[at].out != no_place) made[static_cast<size_t>(code[at].out)] = static_cast<int>(at);
    for_inputs(code[at], [&](int16_t in) { last[static_cast<size_t>(in)] = static_cast<int>(at); });
  }
  // A row value stays, as backends may read it instead of its expansion.
  for (const Instruction& i : code) {
    if (i.code == Opcode::expand) last[static_cast<size_t>(i.in[0])] = static_cast<int>(code.size());
  }

  // Loads of contiguous memory in the compute type need no copy; nor do stores of it, unless the
  // value itself lies in memory already or the store must come after a load from the same memory.
  std::vector<bool> dropped(code.size(), false);
  for (size_t at = 0; at < code.size(); ++at) {
    const Instruction& i = code[at];
    if (i.code != Opcode::load && i.code != Opcode::store) continue;
    const Memory& memory = segment.memory[static_cast<size_t>(i.index)];
    if (!memory.contiguous || !in_compute_type(memory.dtype)) continue;
    int16_t here = static_cast<int16_t>(~i.index);
    if (i.code == Opcode::load && static_cast<int>(at) >= program->once) {
      place[static_cast<size_t>(i.out)] = here;
      dropped[at] = true;
    } else if (i.code == Opcode::store) {
      size_t value = static_cast<size_t>(i.in[0]);
      bool computed = made[value] >= program->once &&
                      code[static_cast<size_t>(made[value])].code != Opcode::load;
      // Where it is the memory of something loaded, may_alias() has been asked: the load's last use
      // comes no later than this value is made.
      if (computed && place[value] == no_place) {
        place[value] = here;
        dropped[at] = true;
      }
    }
  }

  std::vector<int16_t> free_registers;
  int16_t registers = 0;
  program->wide = false;
  auto width = [](const Instruction& i) { return size_of(i.type); };
  auto release = [&](const Instruction& i, int at, size_t bytes) {
    for (int k = 0; k < 3; ++k) {
      int16_t in = i.in[k];
      if (in == no_place || last[static_cast<size_t>(in)] != at) continue;
      bool repeated = false;
      for (int j = 0; j < k; ++j) repeated |= i.in[j] == in;
      int maker = made[static_cast<size_t>(in)];
      const Instruction& made_by = code[static_cast<size_t>(maker)];
      bool same_width = width(made_by) == bytes && made_by.row == i.row;
      // Before the result is placed only registers that it may overwrite are released.
      if (repeated || maker < program->once || place[static_cast<size_t>(in)] < 0) continue;
      if (bytes == 0 || same_width) {
        free_registers.push_back(place[static_cast<size_t>(in)]);
        last[static_cast<size_t>(in)] = -2;
      }
    }
  };
  for (size_t at = 0; at < code.size(); ++at) {
    Instruction& i = code[at];
    if (i.out != no_place && size_of(i.type) == 8) program->wide = true;
    if (dropped[at]) continue;
    bool overwrites = i.code == Opcode::elementwise || i.code == Opcode::select ||
                      i.code == Opcode::round;
    if (overwrites) release(i, static_cast<int>(at), width(i));
    if (i.out != no_place && place[static_cast<size_t>(i.out)] == no_place) {
      if (free_registers.empty() || static_cast<int>(at) < program->once) {
        place[static_cast<size_t>(i.out)] = registers++;
      } else {
        place[static_cast<size_t>(i.out)] = free_registers.back();
        free_registers.pop_back();
      }
      if (last[static_cast<size_t>(i.out)] < 0 && static_cast<int>(at) >= program->once) {
        free_registers.push_back(place[static_cast<size_t>(i.out)]);  // never read
      }
    }
    release(i, static_cast<int>(at), 0);
  }

  std::vector<Instruction> kept;
  for (size_t at = 0; at < code.size(); ++at) {
    if (dropped[at]) continue;
    Instruction i = code[at];
    if (i.out != no_place) i.out = place[static_cast<size_t>(i.out)];
    for_inputs(i, [&](int16_t& in) { in = place[static_cast<size_t>(in)]; });
    kept.push_back(i);
  }
  code = std::move(kept);
  program->registers = registers;
}

}  // namespace mt
