// SPDX-License-Identifier: Apache-2.0
// Equal reductions of a value are computed once: the sum that a mean and a variance both need, or
// the gradients of a bias and of a norm. Only reductions: repeated element-wise work is mostly
// intended, as it costs less than memory, and a checkpoint recomputes large values in order not to
// keep them.
#pragma once

#include <optional>

#include "fusion/planning/arrangement.h"

namespace mt {

// The result has no groups yet; nullopt if there is nothing to share.
std::optional<Arrangement> with_shared_reductions(const Region& region);

}  // namespace mt
