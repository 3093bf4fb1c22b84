// SPDX-License-Identifier: Apache-2.0
// Operands whose rows do not follow each other evenly, such as a number for each channel of an
// image: they are read where they lie, as long as they go on evenly within a tile. Where they do so
// only within pieces of a row, the steps that read them go through its pieces.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/program.h"

namespace mt::cpu {

// Rows, or pieces of one, have at least so many elements: shorter ones are copied.
constexpr int64_t shortest_piece = 32;

struct PiecedOperand {
  bool serves = false;    // whether it lies so
  bool is_read = false;   // whether steps read it where it lies
  bool repeated = false;  // one number for each piece
  int64_t pitch = 0;      // bytes from one piece of a tile to the next
  Layout pieces;          // where each begins
};

// How each memory lies over pieces of so many elements, of which a tile takes at most `together`;
// nothing if none lies so. That many, or fewer, then is what tiles of `together` must keep to.
std::vector<PiecedOperand> pieced_operands(const Segment& segment, int64_t length,
                                           int64_t* together);

// The length of the pieces that some operand has, at most `longest` elements; else 0.
int64_t piece_length(const Segment& segment, int64_t longest);

}  // namespace mt::cpu
