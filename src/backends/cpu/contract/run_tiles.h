// SPDX-License-Identifier: Apache-2.0
// Runs a contraction by its schedule: shares the tiles of the result out to the threads, and joins
// the panels of k.
#pragma once

#include "backends/cpu/contract/contract.h"

namespace mt::cpu {

// A contraction as scheduled: a and b are exchanged if the schedule computes the transpose.
struct TileWork {
  const Schedule& schedule;
  const MatrixOperand &a, &b;
  const void *a_data, *b_data;
  Dtype dtype;  // of the result
  void *out, *scratch;
  const Epilogue* epilogue;   // nullptr: none
  const EntrySource* source;  // makes what the caller calls b; nullptr: that lies in memory
};

// Computes batch entries [first, end).
void run_tiles(const TileWork& work, int64_t first, int64_t end);

}  // namespace mt::cpu
