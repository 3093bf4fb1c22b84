// SPDX-License-Identifier: Apache-2.0
// Reductions too long for a row program: element-wise, then one reduction over long rows or over
// leading dimensions, in the order of ops/order.h.
#pragma once

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Elements of a tile, and most outputs of a task down columns.
constexpr int64_t reduced_tile = 1024;

struct PreparedReduction {
  PreparedProgram elements;          // the program without the reduction, which comes last
  Step whole;                        // the program with its reduction, if one kernel does it all
  Step last;                         // the reduction, if it is of compact values
  Segment segment;                   // its elements as one long row
  Runs runs;                         // the runs of the elements, if these are read in place
  HalfColumnSum halves = nullptr;    // if it only sums columns of one 16-bit memory
  int64_t panel, panels;             // elements in a panel; panels of one reduction
  int64_t stretch;                   // columns of a task
  int64_t held = 0, held_bytes = 0;  // elements read at once of operand
                                     // elements.panels.memory, if its rows are transposed
  int64_t worker_bytes;              // scratch of a worker
  int64_t partial_bytes = 0;         // of all partial results, unless they lie in the output
};

PreparedReduction prepare_reduction(const ReduceGroup& group, const std::vector<Buffer>& buffers);
int64_t scratch_bytes(const PreparedReduction& prepared);
void run_reduction(const ReduceGroup& group, const PreparedReduction& prepared,
                   void* const* buffers, const Immediates* immediates, char* scratch);

}  // namespace mt::cpu
