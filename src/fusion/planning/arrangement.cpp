// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/arrangement.h"

#include <numeric>

namespace mt {

Arrangement as_it_is(const Region& region, Grouping grouping) {
  Arrangement result{region, std::move(grouping), std::vector<int>(region.items.size()), {}};
  std::iota(result.original.begin(), result.original.end(), 0);
  return result;
}

Arrangement one_by_one(const Region& region) {
  const size_t items = region.items.size();
  Grouping grouping;
  for (size_t i = 0; i < items; ++i) {
    const int item = static_cast<int>(i);
    grouping.groups.push_back({GroupKind::call, region.item(item).node->shape, {}, {}, {}, {item}});
    grouping.group_of.push_back(item);
  }
  grouping.row_valued.assign(items, false);
  grouping.total.assign(items, false);
  grouping.refusal.assign(items, nullptr);
  return as_it_is(region, std::move(grouping));
}

Arrangement without_items(const Region& region) {
  Arrangement result;
  result.region.device = region.device;
  result.region.leaves = region.leaves;
  return result;
}

void rename_successors(const std::vector<int>& renamed, Region* region) {
  for (Leaf& leaf : region->leaves) {
    if (leaf.successor >= 0) leaf.successor = renamed[leaf.successor];
  }
}

}  // namespace mt
