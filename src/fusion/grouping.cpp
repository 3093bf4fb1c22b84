// SPDX-License-Identifier: Apache-2.0
// Greedy grouping, from the last item to the first: an item joins the group of its consumers when
// all of them are in one group, or in groups that can become one, and read it element for element
// (or row for row).
#include "fusion/grouping.h"

#include "fusion/drafts.h"

namespace mt {
namespace {

bool read_from_memory(const Drafts& drafts, int i) {
  for (const Use& use : drafts.uses(i)) {
    OpKind kind = drafts.node(use.consumer).op->kind;
    if (kind == OpKind::contract || kind == OpKind::call) return true;
  }
  return false;
}

// Joins the group of the item's consumers, making theirs one first; false if the item must start
// one of its own.
bool join(Drafts& drafts, int i) {
  auto uses = drafts.uses(i);
  if (uses.empty()) return false;
  const char*& refusal = drafts.grouping.refusal[static_cast<size_t>(i)];
  int target = drafts.group_of(uses[0].consumer);
  for (const Use& use : uses) {
    if (!merge_groups(drafts, target, drafts.group_of(use.consumer))) {
      refusal = "its consumers are in different groups";
      return false;
    }
  }
  refusal = join_group(drafts, i, target);
  return !refusal;
}

void place(Drafts& drafts, int i) {
  const Op& op = *drafts.node(i).op;
  bool source = op.kind == OpKind::constant || op.kind == OpKind::iota;
  if (source && !drafts.item(i).stored && !read_from_memory(drafts, i)) {
    return;  // written inline where read
  }
  if (!source && (is_pointwise(op) || op.kind == OpKind::reduce) && join(drafts, i)) return;
  start_group(drafts, i);
  // Its value goes to memory for some consumers; others may still be computed along with it.
  for (const Use& use : drafts.uses(i)) {
    merge_groups(drafts, drafts.group_of(i), drafts.group_of(use.consumer));
  }
}

}  // namespace

Grouping group_items(const Region& region) {
  Drafts drafts(region);
  for (int i = drafts.count() - 1; i >= 0; --i) place(drafts, i);
  attach_epilogues(drafts);
  order_groups(drafts);
  return std::move(drafts.grouping);
}

}  // namespace mt
