// SPDX-License-Identifier: Apache-2.0
// Each compute type's kernels for the instruction set in use, indexed by Elementwise.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

const Operator* float32_operators();
const Operator* float64_operators();
const Operator* int32_operators();
const Operator* int64_operators();
const Operator* uint64_operators();

// Chooses the instruction set on first use; every lookup calls it before it dispatches.
void choose_instruction_set();

}  // namespace mt::cpu
