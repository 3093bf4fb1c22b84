// SPDX-License-Identifier: Apache-2.0
// Runs the operators on matrices (ops/linalg): on LAPACK, or on their naive functions where there
// is none. Threads divide the matrices of a batch; a single large one is left to LAPACK's threads.
#pragma once

#include <cstdint>

#include "ops/naive.h"
#include "plan/plan.h"

namespace mt::cpu {

void matrix_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t matrix_scratch(const CallGroup& group, int threads);

}  // namespace mt::cpu
