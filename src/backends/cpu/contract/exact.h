// SPDX-License-Identifier: Apache-2.0
// Contractions of integers and booleans. Integer sums wrap around, so their order does not matter.
#pragma once

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/tile.h"

namespace mt::cpu {

// Computes the rows and columns of `tile`, summed as `sum`, and writes them to the contiguous
// result `out` of type `dtype`. scratch: exact_scratch() bytes. a_data, b_data: where the tile's
// batch entry begins.
void run_exact(const MatrixOperand& a, const void* a_data, const MatrixOperand& b,
               const void* b_data, Dtype dtype, Dtype sum, const Tile& tile, void* out,
               void* scratch);
size_t exact_scratch();

}  // namespace mt::cpu
