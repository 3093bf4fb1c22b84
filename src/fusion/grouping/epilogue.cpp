// SPDX-License-Identifier: Apache-2.0
// Epilogues: what follows a contraction on its finished rows, while they are in cache.
#include <algorithm>

#include "fusion/grouping/grouping_state.h"
#include "fusion/grouping/relation.h"

namespace mt {
namespace {

// Whether contraction i finishes whole rows of `columns` elements.
bool finishes_whole_rows(const GroupingState& state, int i, int64_t columns) {
  const Attributes& counts = state.node(i).attributes;
  const Shape& shape = state.node(i).shape;
  int64_t n = 1;
  for (int d = 0; d < counts[2]; ++d) n *= shape[shape.rank() - 1 - d];
  return n > 0 && columns > 0 && n % columns == 0;
}

bool same_rows(const GroupingState& state, int i, const ItemGroup& group) {
  if (state.size(i) != group.rows() * group.columns()) return false;
  return group.kind == GroupKind::map || finishes_whole_rows(state, i, group.columns());
}

const char* attach(GroupingState& state, int i) {
  int target = state.group_of(state.uses(i)[0].consumer);
  for (const Use& use : state.uses(i)) {
    if (state.group_of(use.consumer) != target || !state.may_be_together(i, use.consumer)) {
      return "its consumers are in different groups";
    }
  }
  ItemGroup& group = state.group(target);
  if (group.kind == GroupKind::reduce) return "a reduction over many rows reads it";
  if (group.kind != GroupKind::map && group.kind != GroupKind::row) {
    return "another operator reads it from memory";
  }
  if (group.contraction >= 0) return "the group is the epilogue of another contraction";
  if (!group.permutation.empty() || !same_rows(state, i, group)) {
    return "its rows differ from the group's";
  }
  for (const Use& use : state.uses(i)) {
    if (relation(state, group, i, use) != Relation::element) {
      return "it is read in another order or repeated";
    }
  }
  group.contraction = i;
  state.group(state.group_of(i)).items.clear();
  state.group_of(i) = target;
  return nullptr;
}

}  // namespace

bool spares_epilogue(const GroupingState& state, int group, int64_t columns) {
  int64_t size = state.group(group).rows() * state.group(group).columns();
  for (int i : state.group(group).items) {
    for (const Edge& edge : state.edges(i)) {
      int value = edge.value;
      if (value < 0 || state.node(value).op->kind != OpKind::contract ||
          state.size(value) != size || finishes_whole_rows(state, value, columns)) {
        continue;
      }
      auto uses = state.uses(value);
      if (std::all_of(uses.begin(), uses.end(),
                      [&](const Use& use) { return state.group_of(use.consumer) == group; })) {
        return false;
      }
    }
  }
  return true;
}

void attach_epilogues(GroupingState& state) {
  for (int i = 0; i < state.count(); ++i) {
    bool contraction = state.node(i).op->kind == OpKind::contract;
    if (!contraction || state.uses(i).empty() || state.group_of(i) < 0) continue;
    state.grouping.refusal[i] = attach(state, i);
  }
}

}  // namespace mt
