// SPDX-License-Identifier: Apache-2.0
// The operators on matrices (ops/linalg) by LAPACK's routines.
#pragma once

#include "ops/linalg/matrices.h"

namespace mt::cpu {

template <class T>
struct Routine {
  MatrixFunction<T> function = nullptr;
  // How many elements it needs as working memory for one matrix.
  int64_t (*work)(int64_t m, int64_t n, int64_t k, const Attributes& how) = nullptr;
  // The least max(m, n) for which it is faster than the operator's own function: a call takes
  // LAPACK about a hundred times as long as a multiplication.
  int64_t least = 0;
};

// The routine for an operator; its function is nullptr if there is no such routine, or no LAPACK.
template <class T>
Routine<T> find_routine(const MatrixOp& op);

}  // namespace mt::cpu
