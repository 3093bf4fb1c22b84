// SPDX-License-Identifier: Apache-2.0
// Kernels for compact values: of one or two bytes, as memory has them, rather than in their compute
// type. So many more lanes fit into a vector, and nothing need be loaded, rounded and stored around
// an operator.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// Operands compact, as `operands`, the result so too or, if it is boolean, as bytes. A byte that
// is read as a boolean may be any number; 0 or 1 is written. nullptr where there is no kernel.
Operator compact_operator(Elementwise code, Dtype operands);
// The boolean result of operands in their compute type, as bytes. nullptr for any other operator.
Operator truth_operator(Elementwise code, Compute type);
// x != 0 as bytes.
Kernel truth_kernel(Compute type);
Kernel truth_of_bytes_kernel();
// select_operator() for elements of so many bytes and a condition of bytes.
Operator compact_select_operator(size_t element_size);
// row_reduction() of integers of one or two bytes, or booleans, at most a panel of them: their sum
// as an integer of 64 bits, the largest or smallest as one of 32. nullptr where there is no kernel.
Operator compact_reduction(Reduction reduction, Dtype operand);

}  // namespace mt::cpu
