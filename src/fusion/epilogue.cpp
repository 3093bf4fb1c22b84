// SPDX-License-Identifier: Apache-2.0
// What follows a contraction on its finished rows, while they are in cache.
#include "fusion/drafts.h"
#include "fusion/relation.h"

namespace mt {
namespace {

bool whole_rows(const Drafts& drafts, int i, const Draft& group) {
  const Attributes& counts = drafts.node(i).attributes;
  const Shape& shape = drafts.node(i).shape;
  int64_t n = 1;
  for (int d = 0; d < counts[2]; ++d) n *= shape[shape.rank() - 1 - d];
  if (drafts.size(i) != group.rows() * group.columns()) return false;
  return group.kind == GroupKind::map || (n > 0 && group.columns() > 0 && n % group.columns() == 0);
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
  if (!group.permutation.empty() || !whole_rows(drafts, i, group)) {
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

void attach_epilogues(Drafts& drafts) {
  for (int i = 0; i < drafts.count(); ++i) {
    bool contraction = drafts.node(i).op->kind == OpKind::contract;
    if (!contraction || drafts.uses(i).empty() || drafts.group_of(i) < 0) continue;
    drafts.grouping.refusal[static_cast<size_t>(i)] = attach(drafts, i);
  }
}

}  // namespace mt
