// SPDX-License-Identifier: Apache-2.0
// A region and its groups, rewritten so that some items are repeated, shared, or computed in part.
#pragma once

#include "fusion/grouping/grouping.h"

namespace mt {

struct Arrangement {
  Region region;
  Grouping grouping;
  std::vector<int> original;  // for each item, the item of the given region that it stands for
  std::vector<Tensor> nodes;  // of items and views that exist only here
};

// An operand this many times smaller than the result does not count when deciding whether to
// recompute the result: reading it costs next to nothing.
constexpr int64_t small_share = 16;

// The region with nothing changed.
Arrangement as_it_is(const Region& region, Grouping grouping);

// The region for devices that do not fuse: each item is a group by itself.
Arrangement one_by_one(const Region& region);

// The given region's device and leaves, and no items yet.
Arrangement without_items(const Region& region);

// Replaces the leaves' successors by the items that they have become in `region`.
void rename_successors(const std::vector<int>& renamed, Region* region);

// Adds a copy of item i of `region`, and returns its index. Where edge e of the item reads item
// `value`, that of the copy reads value_of(value, e).
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
