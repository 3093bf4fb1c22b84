// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/arrangement.h"

#include <numeric>

namespace mt {

Arrangement as_it_is(const Region& region, Grouping grouping) {
  Arrangement result{region, std::move(grouping), std::vector<int>(region.items.size()), {}};
  std::iota(result.original.begin(), result.original.end(), 0);
  return result;
}

Arrangement without_items(const Region& region) {
  Arrangement result;
  result.region.device = region.device;
  result.region.leaves = region.leaves;
  return result;
}

}  // namespace mt
