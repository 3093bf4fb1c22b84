// SPDX-License-Identifier: Apache-2.0
// Which item belongs to which group so far, and the steps that form groups. Each step that succeeds
// leaves groups that can run.
#pragma once

#include <vector>

#include "fusion/grouping/grouping.h"

namespace mt {

// A grouping while it is being made, with what the steps ask about items.
struct GroupingState {
  const Region& region;
  Readers readers;
  Grouping grouping;
  // If set, the part of each item; only items of the same part may run together.
  const std::vector<int>* part_of = nullptr;

  int64_t panels_for_totals;        // see Backend
  std::vector<bool> finishes_rows;  // for each item, see finished_rows()
  // For each group, of which there are no more than items: its place in an order in which groups
  // can run. The others are scratch for searches over groups.
  std::vector<int> place, visited, before, after;
  int searches = 0;

  explicit GroupingState(const Region& region);

  int count() const { return static_cast<int>(region.items.size()); }
  const Item& item(int i) const { return region.item(i); }
  const Node& node(int i) const { return *item(i).node; }
  int64_t size(int i) const { return element_count(node(i).shape); }
  std::span<const Edge> edges(int i) const { return region.edges_of(i); }
  std::span<const Use> uses(int i) const { return readers.of(i); }
  bool may_be_together(int i, int j) const { return !part_of || (*part_of)[i] == (*part_of)[j]; }
  // Whether a row group may have `rows` rows of `columns` elements.
  bool has_room_for(int64_t rows, int64_t columns) const;
  // Whether item i, as part of a group, is read from memory as well.
  bool goes_to_memory(int i, int group) const {
    if (item(i).stored) return true;
    for (const Use& use : uses(i)) {
      if (group_of(use.consumer) != group) return true;
    }
    return false;
  }

  ItemGroup& group(int g) { return grouping.groups[g]; }
  const ItemGroup& group(int g) const { return grouping.groups[g]; }
  int& group_of(int i) { return grouping.group_of[i]; }
  int group_of(int i) const { return grouping.group_of[i]; }
  bool is_row(int i) const { return grouping.row_valued[i]; }
  void make_row(int i) { grouping.row_valued[i] = true; }
  bool is_total(int i) const { return grouping.total[i]; }
  void make_total(int i) {
    grouping.total[i] = true;
    grouping.row_valued[i] = false;
  }
};

// Starts a group with item i alone.
void start_group(GroupingState& state, int i);

// Adds item i to `group`, which has consumers of it. Returns the reason if it cannot, else nullptr.
const char* join_group(GroupingState& state, int i, int group);

// Merges groups a and b if possible; returns whether they are one group now.
bool merge_groups(GroupingState& state, int a, int b);

// Merge the groups that read item i, or the same leaf, where possible.
void merge_readers(GroupingState& state, int i);
void merge_readers_of_leaves(GroupingState& state);

// Whether no other group has to run between a and b. If so, moves everything that reads from either
// after both in the order.
bool bring_together(GroupingState& state, int a, int b);

// Contractions whose consumers all lie in one element-wise or row group take it as epilogue.
void attach_epilogues(GroupingState& state);
// Padding whose consumers all lie in one element-wise group joins it, to be generated as they read
// it; once all groups are formed.
void attach_padding(GroupingState& state);
// Whether an element-wise group, split into rows of `columns` elements, can still be the epilogue
// of each contraction whose epilogue it could be.
bool spares_epilogue(const GroupingState& state, int group, int64_t columns);

// Puts items in recorded order within groups, and groups in an order in which they can run; false
// when there is none.
bool order_groups(GroupingState& state);

// Turns an element-wise group into one of rows of `columns` elements.
bool split_rows(ItemGroup* group, int64_t columns);

constexpr size_t most_items = 64;  // in one group

}  // namespace mt
