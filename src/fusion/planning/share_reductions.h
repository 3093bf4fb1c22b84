// SPDX-License-Identifier: Apache-2.0
// What is reduced twice in the same way is reduced once: the sum that a mean and a variance both
// ask for, or a bias's gradient and a norm's. Nothing but reductions is looked for: what is written
// twice element by element is mostly meant so, as it costs less than memory does, and a checkpoint
// computes large values again in order not to keep them.
#pragma once

#include <optional>

#include "fusion/planning/arrangement.h"

namespace mt {

// Without groups yet; nullopt if there is nothing to share.
std::optional<Arrangement> with_shared_reductions(const Region& region);

}  // namespace mt
