// SPDX-License-Identifier: Apache-2.0
// A fused group's program: a few instructions over registers that hold a tile of values.
//
// The program iterates over rows x columns. An element value has one number for each element of
// the tile; a row value one for each of its rows (the result of a row reduction and what follows
// from it). A purely element-wise group has one column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/elementwise.h"
#include "ops/reduction.h"
#include "tensor/layout.h"

namespace mt {

enum class Opcode : uint8_t {
  load,         // from memory[index], converting to the compute type
  constant,     // constants[index] repeated
  iota,         // the position that memory[index].layout gives, as an integer
  random,       // random bits or uniform numbers; constants[index] holds seed and stream
  elementwise,  // detail: an Elementwise
  select,       // inputs: condition, a, b
  cast,         // from `from` to `type`
  to_boolean,   // from `from` to i32 0 or 1
  round,        // to `dtype` and back
  reduce,       // detail: a Reduction; an element value to a row value
  total,        // the columns of an element value, reduced over all rows: the group's totals[index]
  expand,       // a row value to an element value
  store,        // to memory[index], converting to its dtype
};

// A value's place is a register, or ~m: its tile of memory m itself, which is contiguous and of the
// compute type, so that no load or store is needed.
constexpr int16_t no_place = INT16_MIN;

struct Instruction {
  Opcode code;
  uint8_t detail = 0;
  Compute type;                  // of the result (of the input, for a store)
  Compute from = Compute::f32;   // of the input, for conversions
  Dtype dtype = Dtype::float32;  // for round and random
  bool row = false;              // the result is a row value
  bool row_input = false;        // the inputs are row values
  int16_t out = no_place;
  int16_t in[3] = {no_place, no_place, no_place};
  int16_t index = -1;  // into memory or constants

  bool operator==(const Instruction&) const = default;
};

// Where a load or a store finds its elements: strides over the group's iteration shape (for a row
// value, over its row dimensions).
struct Memory {
  int buffer;  // index into Plan::buffers; -1 for iota
  Dtype dtype;
  Layout layout;
  bool row;          // over rows only
  bool contiguous;   // element i lies at offset + i
  int margins = -1;  // index into the segment's margins, if it is padded as it is read

  bool is_padded() const { return margins >= 0; }
};

// For a padded operand: per dimension of its layout, the range [begin, end) of indices that has
// elements, the first of them at the layout's offset. All other indices read `constant`.
struct Margins {
  Dims begin, end;
  int constant;  // index into the segment's constants

  bool operator==(const Margins&) const = default;
};

// What differs between the parts of a group that run the same instructions.
struct Segment {
  int64_t rows = 1, columns = 1;
  std::vector<Memory> memory;
  std::vector<int> constants;  // indices into the evaluation's immediates
  std::vector<Margins> margins;
};

struct Program {
  std::vector<Instruction> instructions;
  int once = 0;  // leading instructions that fill a register each with one number, for all tiles
  int registers = 0;
  bool wide = false;  // some register holds 8-byte numbers
};

// Whether the program writes to segment.memory[m].
inline bool is_stored_to(const Program& program, size_t m) {
  const auto index = static_cast<int16_t>(m), place = static_cast<int16_t>(~index);
  return std::any_of(program.instructions.begin(), program.instructions.end(),
                     [&](const Instruction& i) {
                       return i.out == place || (i.code == Opcode::store && i.index == index);
                     });
}

}  // namespace mt
