// SPDX-License-Identifier: Apache-2.0
// A weight by which several products multiply, as each position of a recurrent network does: none
// of them can read it in vectors as it lies, so it is turned once for all.
#pragma once

#include "plan/plan.h"

namespace mt::cpu {

// Adds to the plan what turns such weights, and has their products read that.
void turn_shared_weights(Plan* plan, int threads);

}  // namespace mt::cpu
