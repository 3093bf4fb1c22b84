// SPDX-License-Identifier: Apache-2.0
// Values that are computed again where they are read, because what they are made of is in memory
// anyway: a normalized row, say, from the deviation and the row's scale, which the gradient reads.
#pragma once

#include <optional>

#include "fusion/planning/arrangement.h"

namespace mt {

// nullopt if the groups are best left as they are.
std::optional<Arrangement> rematerialized(const Region& region, const Grouping& grouping);

}  // namespace mt
