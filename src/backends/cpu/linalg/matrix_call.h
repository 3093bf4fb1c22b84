// SPDX-License-Identifier: Apache-2.0
// Runs the operators on matrices (ops/linalg): on LAPACK, or on their naive functions where there
// is none. Threads share the matrices of a batch; one large one is LAPACK's own to share.
#pragma once

#include <cstdint>

#include "ops/naive.h"
#include "plan/plan.h"

namespace mt::cpu {

void matrix_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t matrix_scratch(const CallGroup& group, int threads);

}  // namespace mt::cpu
