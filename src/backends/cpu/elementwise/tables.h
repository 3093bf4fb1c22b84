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

}  // namespace mt::cpu
