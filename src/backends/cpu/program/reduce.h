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
  Step whole;                        // the program with it, where one kernel over memory is all
  Step last;                         // the reduction, if it is of compact values
  Segment segment;                   // its elements as one long row
  Runs runs;                         // if all is read as it lies
  HalfColumnSum halves = nullptr;    // if all are sums down columns of one memory in 16 bits
  int64_t panel, panels;             // elements in a panel; panels of one reduction
  int64_t stretch;                   // columns of a task
  int64_t held = 0, held_bytes = 0;  // elements that are read in one go of the operand that
                                     // elements.panels is about, if rows of it are turned
  int64_t worker_bytes;              // scratch of a worker
  int64_t partial_bytes = 0;         // of all partial results, unless they lie in the output
};

PreparedReduction prepare_reduction(const ReduceGroup& group, const std::vector<Buffer>& buffers);
int64_t scratch_bytes(const PreparedReduction& prepared);
void run_reduction(const ReduceGroup& group, const PreparedReduction& prepared,
                   void* const* buffers, const Immediates* immediates, char* scratch);

}  // namespace mt::cpu
