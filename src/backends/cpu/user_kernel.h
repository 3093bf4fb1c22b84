// SPDX-License-Identifier: Apache-2.0
// User-defined kernels: a function that runs for every cell of a grid.
#pragma once

#include "ops/naive.h"

namespace mt::cpu {

void run_kernel(const NaiveCall& call);

}  // namespace mt::cpu
