// SPDX-License-Identifier: Apache-2.0
// Operands whose rows are not evenly spaced, such as one number per channel of an image: they are
// read in place as long as they are evenly spaced within a tile. Where that holds only within
// pieces of a row, the steps that read them go piece by piece.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/program.h"

namespace mt::cpu {

// Fewest elements of a row, or a piece of one: shorter ones are copied.
constexpr int64_t shortest_piece = 32;

struct PiecedOperand {
  bool serves = false;    // whether it can be read in place
  bool is_read = false;   // whether steps read it in place
  bool repeated = false;  // one number for each piece
  int64_t pitch = 0;      // bytes from one piece of a tile to the next
  Layout pieces;          // where each begins
};

// Layout of each memory over pieces of `length` elements; empty if none fits. Lowers `*together`,
// the pieces of a tile, to what the operands allow.
std::vector<PiecedOperand> pieced_operands(const Segment& segment, int64_t length,
                                           int64_t* together);

// The length of the pieces that some operand has, at most `longest` elements; 0 if none has any.
int64_t piece_length(const Segment& segment, int64_t longest);

}  // namespace mt::cpu
