// SPDX-License-Identifier: Apache-2.0
// A choice of which at most one element of each row is taken: select without conditions.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// inputs: an i64 for each row, the column of the element that is taken; what it is taken from; and
// what the others are, both of `type`.
Operator one_hot_operator(Compute type);
// The sum of each row of it where the others are one number; for floats.
Operator row_sum_of_one_hot(Compute type);

}  // namespace mt::cpu
