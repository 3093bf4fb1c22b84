// SPDX-License-Identifier: Apache-2.0
// Values that are computed again where they are read, because what they are made of is in memory
// anyway: a normalized row, say, from the deviation and the row's scale, which the gradient reads.
#pragma once

#include "fusion/grouping.h"

namespace mt {

// A region in which such items are computed more than once, and its groups.
struct Arrangement {
  Region region;
  Grouping grouping;
  std::vector<int> original;  // for each item the one of the given region
};

// nullopt if the groups are best left as they are.
std::optional<Arrangement> rematerialized(const Region& region, const Grouping& grouping);

}  // namespace mt
