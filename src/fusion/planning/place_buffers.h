// SPDX-License-Identifier: Apache-2.0
// Where a plan's working memory lies: offsets in the arena.
#pragma once

#include "plan/plan.h"

namespace mt {

// Assigns arena offsets; buffers share memory if they are not alive at the same time. The source of
// a contraction's padding lives until the contraction if one batch entry has at most
// `most_padding_made` bytes, so that it can be padded as it is read (Backend::most_padding_made()).
void place_buffers(Plan* plan, int64_t most_padding_made);

}  // namespace mt
