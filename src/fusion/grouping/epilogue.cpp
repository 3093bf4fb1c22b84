// SPDX-License-Identifier: Apache-2.0
// What follows a contraction on its finished rows, while they are in cache.
#include <algorithm>

#include "fusion/grouping/drafts.h"
#include "fusion/grouping/relation.h"

namespace mt {
namespace {

// Whether contraction i finishes whole rows of so many elements.
bool finishes_whole_rows(const Drafts& drafts, int i, int64_t columns) {
  const Attributes& counts = drafts.node(i).attributes;
  const Shape& shape = drafts.node(i).shape;
  int64_t n = 1;
  for (int d = 0; d < counts[2]; ++d) n *= shape[shape.rank() - 1 - d];
  return n > 0 && columns > 0 && n % columns == 0;
}

bool same_rows(const Drafts& drafts, int i, const Draft& group) {
  if (drafts.size(i) != group.rows() * group.columns()) return false;
  return group.kind == GroupKind::map || finishes_whole_rows(drafts, i, group.columns());
}

const char* attach(Drafts& drafts, int i) {
  int target = drafts.group_of(drafts.uses(i)[0].consumer);
  for (const Use& use : drafts.uses(i)) {
    if (drafts.group_of(use.consumer) != target || !drafts.may_be_together(i, use.consumer)) {
      return "its consumers are in different groups";
    }
  }
  Draft& group = drafts.draft(target);
  if (group.kind == GroupKind::reduce) return "a reduction over many rows reads it";
  if (group.kind != GroupKind::map && group.kind != GroupKind::row) {
    return "another operator reads it from memory";
  }
  if (group.contraction >= 0) return "the group is the epilogue of another contraction";
  if (!group.permutation.empty() || !same_rows(drafts, i, group)) {
    return "its rows differ from the group's";
  }
  for (const Use& use : drafts.uses(i)) {
    if (relation(drafts, group, i, use) != Relation::element) {
      return "it is read in another order or repeated";
    }
  }
  group.contraction = i;
  drafts.draft(drafts.group_of(i)).items.clear();
  drafts.group_of(i) = target;
  return nullptr;
}

}  // namespace

bool spares_epilogue(const Drafts& drafts, int group, int64_t columns) {
  int64_t size = drafts.draft(group).rows() * drafts.draft(group).columns();
  for (int i : drafts.draft(group).items) {
    for (const Edge& edge : drafts.edges(i)) {
      int value = edge.value;
      if (value < 0 || drafts.node(value).op->kind != OpKind::contract ||
          drafts.size(value) != size || finishes_whole_rows(drafts, value, columns)) {
        continue;
      }
      auto uses = drafts.uses(value);
      if (std::all_of(uses.begin(), uses.end(),
                      [&](const Use& use) { return drafts.group_of(use.consumer) == group; })) {
        return false;
      }
    }
  }
  return true;
}

void attach_epilogues(Drafts& drafts) {
  for (int i = 0; i < drafts.count(); ++i) {
    bool contraction = drafts.node(i).op->kind == OpKind::contract;
    if (!contraction || drafts.uses(i).empty() || drafts.group_of(i) < 0) continue;
    drafts.grouping.refusal[i] = attach(drafts, i);
  }
}

}  // namespace mt
