// SPDX-License-Identifier: Apache-2.0
// Which items of a region run together.
#pragma once

#include <optional>
#include <vector>

#include "fusion/region.h"
#include "plan/plan.h"

namespace mt {

// Items that run together; lowering turns them into a group of the plan. They iterate over
// row_shape x column_shape.
struct ItemGroup {
  GroupKind kind;
  Shape row_shape, column_shape;
  // If not empty: element values, all of permuted_shape, are read in this order of dimensions.
  Dims permutation;
  Shape permuted_shape;
  std::vector<int> items;  // in recorded order; while groups are formed, the last one first
  int64_t inner = 1;       // the size of a reduction's kept dimensions after the reduced ones
  int contraction = -1;    // the contract item whose epilogue this group is

  int64_t rows() const { return element_count(row_shape); }
  int64_t columns() const { return element_count(column_shape); }
};

struct Grouping {
  std::vector<ItemGroup> groups;     // in an order in which they can run
  std::vector<int> group_of;         // for each item; -1: inlined wherever it is read
  std::vector<bool> row_valued;      // for each item: whether it is a row value in its group
  std::vector<bool> total;           // for each item: whether it reduces a row group's columns
  std::vector<const char*> refusal;  // for each item: why it did not join a consumer, or nullptr
};

Grouping group_items(const Region& region);

// The same steps with given parts: items with the same number have to run together (negative only
// for inlined items). nullopt if they cannot. Allows what fusion merely prefers to keep apart, so
// that other searches can judge the greedy one.
std::optional<Grouping> group_as_given(const Region& region, const std::vector<int>& part_of);
// Whether these items, sorted, could form a group by themselves.
bool may_be_group(const Region& region, const std::vector<int>& items);
// Whether item i is a constant or positions (iota) generated wherever it is read, so in no group.
bool is_inlined(const Region& region, const Readers& readers, int i);

}  // namespace mt
