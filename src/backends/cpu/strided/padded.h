// SPDX-License-Identifier: Apache-2.0
// Reads padded operands.
#pragma once

#include <cstdint>

#include "plan/program.h"

namespace mt::cpu {

// Copies elements [first, first + count) of a padded operand, in row-major order, to contiguous
// `out`. `base` is the first element in memory; `fill`, of the same size, is the value elsewhere.
void gather_padded(void* out, const void* base, size_t element_size, const Layout& layout,
                   const Margins& margins, const void* fill, int64_t first, int64_t count);

}  // namespace mt::cpu
