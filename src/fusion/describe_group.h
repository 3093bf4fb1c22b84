// SPDX-License-Identifier: Apache-2.0
// A group of a plan described in one line, and its costs by its sizes.
#pragma once

#include <string>

#include "plan/plan.h"

namespace mt {

// "rows 4096 x 1024: max, subtract, exp, sum, divide", from the plan alone.
std::string describe(const Group& group);
// Bytes of all buffers that the group reads and writes, each counted once.
int64_t bytes_used(const Plan& plan, const Group& group);
// Multiplications and additions of its contraction; 0 for all other groups.
double contraction_operations(const Group& group);

}  // namespace mt
