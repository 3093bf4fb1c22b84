// SPDX-License-Identifier: Apache-2.0
// Kernels for compact values: in one or two bytes, as in memory, rather than in their compute type.
// Many more lanes fit into a vector, and operators need no loading, rounding and storing around
// them.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// An operator on compact operands of that dtype; its result is compact or, if boolean, bytes. A
// byte read as a boolean may be any number; 0 or 1 is written. nullptr if there is no kernel.
Operator compact_operator(Elementwise code, Dtype operands);
// The boolean result of operands in their compute type, as bytes. nullptr for any other operator.
Operator truth_operator(Elementwise code, Compute type);
// x != 0 as bytes.
Kernel truth_kernel(Compute type);
Kernel truth_of_bytes_kernel();
// select_operator() for elements of `element_size` bytes and a condition of bytes.
Operator compact_select_operator(size_t element_size);
// row_reduction() of booleans or integers of one or two bytes, at most a panel of them: a sum is a
// 64-bit integer, an extreme a 32-bit one. nullptr where there is no kernel.
Operator compact_reduction(Reduction reduction, Dtype operand);

}  // namespace mt::cpu
