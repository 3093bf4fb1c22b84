// SPDX-License-Identifier: Apache-2.0
// Transposes once a weight that several products share, as the positions of a recurrent network do:
// none of them can read it with vector loads as it is stored.
#pragma once

#include "plan/plan.h"

namespace mt::cpu {

// Adds groups that transpose such weights to the plan, and makes the products read the transposes.
void turn_shared_weights(Plan* plan, int threads);

}  // namespace mt::cpu
