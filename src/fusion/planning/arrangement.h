// SPDX-License-Identifier: Apache-2.0
// A region rewritten so that some of its items are computed more than once, or not as a whole.
#pragma once

#include "fusion/grouping/grouping.h"

namespace mt {

struct Arrangement {
  Region region;
  Grouping grouping;
  std::vector<int> original;  // for each item the one of the given region
  std::vector<Tensor> nodes;  // of items and views that are only in this one
};

// An operand so much smaller than the value made of it does not matter to whether that is computed
// again: reading it costs next to nothing.
constexpr int64_t small_share = 16;

// The region with nothing changed.
Arrangement as_it_is(const Region& region, Grouping grouping);

// The region as devices run it that do not fuse: each item is a group by itself.
Arrangement one_by_one(const Region& region);

// The given region's device and leaves, and no items yet.
Arrangement without_items(const Region& region);

// Makes the region's leaves name their successors as they are called in it.
void rename_successors(const std::vector<int>& renamed, Region* region);

// Adds a copy of item i of `region`, and returns its index: value_of(value, e) is what the copy's
// edge e reads where the item's own reads item `value`.
template <class F>
int add_copy(const Region& region, int i, F&& value_of, Arrangement* arrangement) {
  Region& result = arrangement->region;
  Item added = region.item(i);
  added.first_edge = static_cast<int>(result.edges.size());
  int e = 0;
  for (Edge edge : region.edges_of(i)) {
    if (edge.value >= 0) edge.value = value_of(edge.value, e);
    result.edges.push_back(edge);
    ++e;
  }
  result.items.push_back(added);
  arrangement->original.push_back(i);
  return static_cast<int>(result.items.size()) - 1;
}

}  // namespace mt
