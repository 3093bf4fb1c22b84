// SPDX-License-Identifier: Apache-2.0
// Contractions of integers and booleans. Integer sums wrap around, so their order does not matter.
#pragma once

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/tile.h"

namespace mt::cpu {

// Of matrices of `dtype`, summed as `sum`: the rows and columns of `tile`, written to the
// contiguous result `out`. scratch: exact_scratch. a_data, b_data: where the tile's batch entry
// begins.
void run_exact(const MatrixOperand& a, const void* a_data, const MatrixOperand& b,
               const void* b_data, Dtype dtype, Dtype sum, const Tile& tile, void* out,
               void* scratch);
size_t exact_scratch();

}  // namespace mt::cpu
