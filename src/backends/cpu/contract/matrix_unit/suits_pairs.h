// SPDX-License-Identifier: Apache-2.0
// Whether a contraction of bfloat16 may use pairs, whatever its rows are: they are the best unit,
// its sums are single chains, and it is large enough to repay packing. Others widen their operands.
#pragma once

#include "plan/contraction.h"

namespace mt::cpu {

bool suits_pairs(const Contraction& contraction);

}  // namespace mt::cpu
