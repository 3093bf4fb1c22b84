// SPDX-License-Identifier: Apache-2.0
// Rows of few elements, fewer than a vector has or scattered over memory, such as pooling windows.
// A tile of them is transposed: its registers hold one column after another, each with one element
// of every row, so that vectors run over the rows.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/program.h"

namespace mt::cpu {

// How a tile's columns lie in an operand: each has the layout `rows`, at its own offset.
struct NarrowOperand {
  Layout rows;
  std::vector<int64_t> columns;  // empty for row values
  bool repeated = false;         // the same for all columns
  bool ahead = false;            // whether each column's part of the next tile is prefetched
};

// The operands of a row program's segment, if its tiles are to be transposed; else nothing.
std::vector<NarrowOperand> narrow_operands(const Program& program, const Segment& segment);

// The same program, except that it loads and stores the elements it would access in place: loads
// and stores transpose them.
Program in_registers(const Program& program, const Segment& segment,
                     const std::vector<NarrowOperand>& operands);

// Whether two-by-two windows lie as pool_pairs() expects them.
bool are_pairs(const NarrowOperand& windows);

// Whether each row begins one element after the previous one, and its elements are evenly spaced.
bool are_sliding(const NarrowOperand& windows);

}  // namespace mt::cpu
