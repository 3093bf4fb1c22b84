// SPDX-License-Identifier: Apache-2.0
// Rows of a few elements, fewer than a vector has or scattered over memory, such as the windows of
// pooling. A tile of them is turned: its registers hold one column after another, each with its
// element of all rows, so that vectors run over the rows.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/program.h"

namespace mt::cpu {

// How a tile's columns lie in an operand: each has the rows' layout from a place of its own.
struct NarrowOperand {
  Layout rows;
  std::vector<int64_t> columns;  // empty for row values
  bool repeated = false;         // the same for all columns
  bool ahead = false;            // whether each column's part of the next tile is fetched
};

// The operands of a row program's segment, if its tiles are to be turned; else nothing.
std::vector<NarrowOperand> narrow_operands(const Program& program, const Segment& segment);

// The same program where elements that would be read or written where they lie are loaded and
// stored, which turns them.
Program in_registers(const Program& program, const Segment& segment);

// Whether windows of two by two lie as pool_pairs takes them.
bool are_pairs(const NarrowOperand& windows);

// Whether each row begins an element after the one before, and its elements lie at even distances.
bool are_sliding(const NarrowOperand& windows);

}  // namespace mt::cpu
