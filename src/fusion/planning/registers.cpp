// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/registers.h"

#include <algorithm>

namespace mt {
namespace {

bool in_compute_type(Dtype dtype) {
  return dtype != Dtype::boolean && size_of(dtype) == size_of(compute_of(dtype));
}

bool is_scalar(const Memory& memory) {
  if (memory.is_padded()) return false;
  for (int d = 0; d < memory.layout.shape.rank(); ++d) {
    if (memory.layout.strides[d] != 0 && memory.layout.shape[d] != 1) return false;
  }
  return true;
}

bool is_once(const Instruction& instruction, const Segment& segment) {
  if (instruction.code == Opcode::constant) return true;
  return instruction.code == Opcode::load && is_scalar(segment.memory[instruction.index]);
}

template <class F>
void for_inputs(Instruction& instruction, F&& f) {
  for (int16_t& in : instruction.in) {
    if (in != no_place) f(in);
  }
}

// Places the values of one program, step by step.
class Placement {
 public:
  Placement(Program* program, const Segment& segment)
      : program_(*program),
        code_(program->instructions),
        segment_(segment),
        place_(static_cast<size_t>(program->registers), no_place),
        made_(place_.size(), -1),
        last_(place_.size(), -1) {}

  void run() {
    move_once_first();
    find_lives();
    leave_in_memory();
    share_registers();
    rewrite();
  }

 private:
  void move_once_first() {
    auto end = std::stable_partition(code_.begin(), code_.end(),
                                     [&](const Instruction& i) { return is_once(i, segment_); });
    program_.once = static_cast<int>(end - code_.begin());
  }

  void find_lives() {
    for (size_t at = 0; at < code_.size(); ++at) {
      const int here = static_cast<int>(at);
      if (code_[at].out != no_place) made(code_[at].out) = here;
      for_inputs(code_[at], [&](int16_t in) { last(in) = here; });
    }
    // An expanded row value stays to the end, as backends may read it instead of its expansion.
    for (const Instruction& i : code_) {
      if (i.code == Opcode::expand) last(i.in[0]) = static_cast<int>(code_.size());
    }
  }

  // Loads of contiguous memory in the compute type need no copy; nor do stores of computed values
  // to it, unless the value has another place in memory already.
  void leave_in_memory() {
    dropped_.assign(code_.size(), false);
    for (size_t at = 0; at < code_.size(); ++at) {
      const Instruction& i = code_[at];
      if (i.code != Opcode::load && i.code != Opcode::store) continue;
      const Memory& memory = segment_.memory[i.index];
      if (!memory.contiguous || !in_compute_type(memory.dtype)) continue;
      const int16_t value = i.code == Opcode::load ? i.out : i.in[0];
      const bool direct = i.code == Opcode::load ? static_cast<int>(at) >= program_.once
                                                 : is_computed(value) && place(value) == no_place;
      // If a store shares memory with a load, may_alias() has ensured that the load's last use
      // comes no later than the instruction that makes this value.
      if (!direct) continue;
      place(value) = static_cast<int16_t>(~i.index);
      dropped_[at] = true;
    }
  }
  bool is_computed(int16_t value) {
    const int at = made(value);
    return at >= program_.once && code_[at].code != Opcode::load;
  }

  void share_registers() {
    program_.wide = false;
    for (size_t at = 0; at < code_.size(); ++at) {
      const Instruction& i = code_[at];
      if (i.out != no_place && size_of(i.type) == 8) program_.wide = true;
      if (dropped_[at]) continue;
      const bool overwrites =
          i.code == Opcode::elementwise || i.code == Opcode::select || i.code == Opcode::round;
      if (overwrites) release_inputs(i, static_cast<int>(at), size_of(i.type));
      if (i.out != no_place && place(i.out) == no_place) take_register(i, static_cast<int>(at));
      release_inputs(i, static_cast<int>(at), 0);
    }
    program_.registers = registers_;
  }
  void take_register(const Instruction& i, int at) {
    const bool is_once = at < program_.once;
    if (free_.empty() || is_once) {
      place(i.out) = registers_++;
    } else {
      place(i.out) = free_.back();
      free_.pop_back();
    }
    if (last(i.out) < 0 && !is_once) free_.push_back(place(i.out));  // never read
  }
  // Frees the registers of inputs that are read for the last time. With `bytes`, before the result
  // is placed, only those that it may overwrite: elements of that size, and `row` as in the result.
  void release_inputs(const Instruction& i, int at, size_t bytes) {
    for (int k = 0; k < 3; ++k) {
      const int16_t in = i.in[k];
      if (in == no_place || last(in) != at || std::find(i.in, i.in + k, in) != i.in + k) continue;
      if (made(in) < program_.once || place(in) < 0) continue;
      const Instruction& maker = code_[made(in)];
      if (bytes != 0 && (size_of(maker.type) != bytes || maker.row != i.row)) continue;
      free_.push_back(place(in));
      last(in) = -2;
    }
  }

  void rewrite() {
    std::vector<Instruction> kept;
    for (size_t at = 0; at < code_.size(); ++at) {
      if (dropped_[at]) continue;
      Instruction i = code_[at];
      if (i.out != no_place) i.out = place(i.out);
      for_inputs(i, [&](int16_t& in) { in = place(in); });
      kept.push_back(i);
    }
    code_ = std::move(kept);
  }

  int16_t& place(int16_t value) { return place_[value]; }
  int& made(int16_t value) { return made_[value]; }
  int& last(int16_t value) { return last_[value]; }

  Program& program_;
  std::vector<Instruction>& code_;
  const Segment& segment_;
  std::vector<int16_t> place_;    // of each value
  std::vector<int> made_, last_;  // the instructions that make each value, and read it last
  std::vector<bool> dropped_;     // loads and stores that are not needed
  std::vector<int16_t> free_;
  int16_t registers_ = 0;
};

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

void place_values(Program* program, const Segment& segment) { Placement(program, segment).run(); }

}  // namespace mt
