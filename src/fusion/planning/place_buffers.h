// SPDX-License-Identifier: Apache-2.0
// Which memory a plan's groups use, and where it lies.
#pragma once

#include "plan/plan.h"

namespace mt {

// Gives the arena's buffers offsets, sharing memory between those that are not alive together.
void place_buffers(Plan* plan);

// The buffers a group reads and writes.
void buffers_read(const Group& group, std::vector<int>* buffers);
void buffers_written(const Group& group, std::vector<int>* buffers);

}  // namespace mt
