// SPDX-License-Identifier: Apache-2.0
// Where the memory that a plan's groups use lies.
#pragma once

#include "plan/plan.h"

namespace mt {

// Gives the arena's buffers offsets, sharing memory between those that are not alive together. What
// is padded for a contraction stays for it, if an entry has at most so many bytes: it may then read
// that, and make the padding as it goes (Backend::most_padding_made()).
void place_buffers(Plan* plan, int64_t most_padding_made);

}  // namespace mt
