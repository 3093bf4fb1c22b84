// SPDX-License-Identifier: Apache-2.0
// A tall a that is contiguous along k, times a few columns, which would leave lanes of a vector
// empty. See rows_in_lanes.cpp.
#pragma once

#include <cstdint>

#include "backends/cpu/contract/blocked.h"

namespace mt::cpu {

// Whether it is fastest to put rows in lanes, for this many rows of a, columns and terms: with
// fewer multiply-adds a SmallProduct is faster.
bool puts_rows_in_lanes(const MatrixOperand& a, const MatrixOperand& b, Dtype sum, int64_t rows,
                        int64_t columns, int64_t terms);

// Computes as many first rows of a tile as fill whole vectors, if that is faster. Returns how many.
int64_t run_rows_in_lanes(const Block& block, float);
int64_t run_rows_in_lanes(const Block& block, double);

}  // namespace mt::cpu
