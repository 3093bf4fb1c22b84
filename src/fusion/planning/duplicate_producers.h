// SPDX-License-Identifier: Apache-2.0
// A cheap value that several groups read is computed in each of them instead of stored, if its
// operands are in memory anyway: a normalized row, say, from the deviation and the row's scale,
// which the gradient reads too.
#pragma once

#include <optional>

#include "fusion/planning/arrangement.h"

namespace mt {

// nullopt if the groups are best left as they are.
std::optional<Arrangement> with_duplicate_producers(const Region& region, const Grouping& grouping);

}  // namespace mt
