// SPDX-License-Identifier: Apache-2.0
// One thread's share of a contraction whose outputs have lanes: element k of a chain goes to lane
// k % 16. See lanes.cpp.
#pragma once

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/windows/same_windows.h"

namespace mt::cpu {

constexpr int order_lanes = 16;             // the lanes of contraction_order(), if not 1
constexpr int64_t most_few = 4;             // the smaller of m and n is then at most this
constexpr int64_t lanes_block_k = 512;      // multiple of order_lanes
constexpr int64_t most_widened_k = 2048;    // of all rows of few, beside a many read as it is
constexpr int64_t group_bytes = 24 * 1024;  // of sums kept in the first-level cache
constexpr int64_t page = 4096;              // of memory, in bytes
constexpr int64_t widened_columns = 256, widened_terms = 4;  // columns, and terms of each lane

struct LanesBlock {
  const MatrixOperand* many;          // the operand whose rows are the longer of m and n
  const MatrixOperand* few;           // the other one
  const void *many_data, *few_data;   // where the batch entry begins
  int64_t k_begin, k_end;             // one panel
  int64_t row_begin, row_end;         // of `many`
  void* c;                            // element (row_begin, 0), float or double
  int64_t c_many, c_few;              // c's strides
  void* scratch;                      // lanes_scratch() bytes
  const SameWindows* same = nullptr;  // if many_data are unpadded images with such windows
};

// For a `many` whose rows are neighbours in memory: how many rows (columns of a strip) run
// together, and how many terms of each lane.
struct LaneStrips {
  LaneStrips(const MatrixOperand& many, int64_t few, Dtype sum);
  bool possible;
  bool widened;  // 16-bit floats are widened, some terms at a time, before the kernel reads them
  bool near;     // the second-level cache holds all of `many`, or the part of it that is widened
  bool fetched;  // ahead, by software
  int64_t columns, terms;
};

size_t lanes_scratch(const MatrixOperand& many, int64_t few, Dtype sum);

// Whether this machine has kernels for SameWindows; and for 16-bit floats that are widened as they
// are read, beside this many rows of `few`.
bool takes_same_windows();
bool widens_as_read(int64_t few);

void run_lanes(const LanesBlock& block, float);
void run_lanes(const LanesBlock& block, double);

}  // namespace mt::cpu
