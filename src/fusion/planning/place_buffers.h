// SPDX-License-Identifier: Apache-2.0
// Where the memory that a plan's groups use lies.
#pragma once

#include "plan/plan.h"

namespace mt {

// Gives the arena's buffers offsets, sharing memory between those that are not alive together.
void place_buffers(Plan* plan);

}  // namespace mt
