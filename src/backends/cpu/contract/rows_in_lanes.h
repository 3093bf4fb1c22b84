// SPDX-License-Identifier: Apache-2.0
// A tall a whose rows lie along k, times a few columns that would leave lanes of a vector empty.
// See rows_in_lanes.cpp.
#pragma once

#include <cstdint>

#include "backends/cpu/contract/blocked.h"

namespace mt::cpu {

// Whether rows in lanes are the quickest way for so many rows of a, columns and terms: of fewer
// multiply-adds a small product's way is.
bool puts_rows_in_lanes(const MatrixOperand& a, const MatrixOperand& b, Dtype sum, int64_t rows,
                        int64_t columns, int64_t terms);

// Computes the first rows of a tile, as far as they fill vectors, if that is the quicker way.
// Returns how many.
int64_t run_rows_in_lanes(const Block& block, float);
int64_t run_rows_in_lanes(const Block& block, double);

}  // namespace mt::cpu
