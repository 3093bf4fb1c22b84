// SPDX-License-Identifier: Apache-2.0
// select without conditions: at most one element of each row is taken from its first alternative.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// inputs: for each row an i64, the column of the element to take; what it is taken from; and what
// all other elements are, both of `type`. If `across`, rows are transposed, as in a transposed tile
// (narrow_columns): the kernel's rows are columns.
Operator one_hot_operator(Compute type, bool across);
// The sum of each such row, if the other elements are one number for each row (if `across`, one for
// all); for floats.
Operator row_sum_of_one_hot(Compute type, bool across);

}  // namespace mt::cpu
