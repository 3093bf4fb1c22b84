// SPDX-License-Identifier: Apache-2.0
// Where a program's values live while it runs.
#pragma once

#include "plan/program.h"

namespace mt {

// Decides for every value whether it lies in memory as it is, or in a register, and shares
// registers between values whose lives do not overlap.
void place_values(Program* program, const Segment& segment);

// Whether storing through `store` may overwrite what `load` has read: every use of the loaded
// value comes no later than the instruction that makes the stored one. Before place_values.
bool may_alias(const Program& program, int store, int load);

}  // namespace mt
