// SPDX-License-Identifier: Apache-2.0
// Greedy grouping, from the last item to the first: an item joins the group of its consumers when
// all of them are in one group, or in groups that can become one, and read it element for element
// (or row for row).
#include "fusion/grouping/grouping.h"

#include "base/error.h"
#include "fusion/grouping/grouping_state.h"

namespace mt {
namespace {

// Joins the item to its consumers' group, merging their groups first; false if it must start a
// group of its own.
bool join(GroupingState& state, int i) {
  const char*& refusal = state.grouping.refusal[i];
  int target = -1;
  for (const Use& use : state.uses(i)) {
    if (!state.may_be_together(i, use.consumer)) continue;
    int group = state.group_of(use.consumer);
    if (target < 0) target = group;
    if (!merge_groups(state, target, group)) {
      refusal = "its consumers are in different groups";
      return false;
    }
  }
  if (target < 0) return false;
  refusal = join_group(state, i, target);
  return !refusal;
}

// An element-wise item that is also read from memory, and is alone in its group so far, may be
// computed along with a long reduction of it.
void join_reduction_of(GroupingState& state, int i) {
  int own = state.group_of(i);
  for (const Use& use : state.uses(i)) {
    int target = state.group_of(use.consumer);
    bool possible = state.may_be_together(i, use.consumer) && target >= 0 &&
                    state.group(target).kind == GroupKind::reduce &&
                    state.group(own).items.size() == 1;
    if (!possible || !bring_together(state, own, target) || join_group(state, i, target)) {
      continue;
    }
    state.group(own).items.clear();
    return;
  }
}

void place(GroupingState& state, int i) {
  const Op& op = *state.node(i).op;
  bool source = op.kind == OpKind::constant || op.kind == OpKind::iota;
  if (!source && (is_pointwise(op) || op.kind == OpKind::reduce) && join(state, i)) return;
  if (!state.part_of) merge_readers(state, i);
  start_group(state, i);
  // Its value goes to memory for some consumers; others may still be computed along with it.
  for (const Use& use : state.uses(i)) {
    if (!state.may_be_together(i, use.consumer)) continue;
    merge_groups(state, state.group_of(i), state.group_of(use.consumer));
  }
  if (!source && is_pointwise(op)) join_reduction_of(state, i);
}

// Merges groups of the same part that have no edge between them.
void merge_parts(GroupingState& state) {
  int groups = static_cast<int>(state.grouping.groups.size());
  auto part = [&](int group) {
    return state.group(group).items.empty() ? -1 : (*state.part_of)[state.group(group).items[0]];
  };
  for (bool merged = true; merged;) {
    merged = false;
    for (int a = 0; a < groups; ++a) {
      for (int b = a + 1; b < groups; ++b) {
        if (part(a) >= 0 && part(a) == part(b)) merged |= merge_groups(state, a, b);
      }
    }
  }
}

// Whether all items of a part are in one group.
bool parts_are_whole(const GroupingState& state) {
  std::vector<int> group_of_part(state.region.items.size(), -1);
  for (int i = 0; i < state.count(); ++i) {
    int group = state.group_of(i);
    if (group < 0) continue;
    int& known = group_of_part[(*state.part_of)[i]];
    if (known >= 0 && known != group) return false;
    known = group;
  }
  return true;
}

bool form_parts(GroupingState& state) {
  for (int i = state.count() - 1; i >= 0; --i) {
    if ((*state.part_of)[i] >= 0) place(state, i);
  }
  merge_parts(state);
  attach_epilogues(state);
  attach_padding(state);
  return parts_are_whole(state);
}

}  // namespace

bool is_inlined(const Region& region, const Readers& readers, int i) {
  const Item& item = region.item(i);
  OpKind kind = item.node->op->kind;
  if ((kind != OpKind::constant && kind != OpKind::iota) || item.stored) return false;
  for (const Use& use : readers.of(i)) {
    OpKind reader = region.item(use.consumer).node->op->kind;
    if (reader == OpKind::contract || reader == OpKind::call) return false;
  }
  return true;
}

Grouping group_items(const Region& region) {
  GroupingState state(region);
  for (int i = state.count() - 1; i >= 0; --i) {
    if (!is_inlined(region, state.readers, i)) place(state, i);
  }
  merge_readers_of_leaves(state);
  attach_epilogues(state);
  attach_padding(state);
  if (!order_groups(state)) fail(Code::unsupported, "fusion: groups that wait for each other");
  return std::move(state.grouping);
}

std::optional<Grouping> group_as_given(const Region& region, const std::vector<int>& part_of) {
  GroupingState state(region);
  state.part_of = &part_of;
  if (!form_parts(state) || !order_groups(state)) return std::nullopt;
  return std::move(state.grouping);
}

bool may_be_group(const Region& region, const std::vector<int>& items) {
  std::vector<int> part_of(region.items.size(), -1);
  for (int i : items) part_of[i] = 0;
  GroupingState state(region);
  state.part_of = &part_of;
  return form_parts(state);
}

}  // namespace mt
