// SPDX-License-Identifier: Apache-2.0
// Greedy grouping, from the last item to the first: an item joins the group of its consumers when
// all of them are in one group, or in groups that can become one, and read it element for element
// (or row for row).
#include "fusion/grouping/grouping.h"

#include "base/error.h"
#include "fusion/grouping/drafts.h"

namespace mt {
namespace {

// Joins the group of the item's consumers, making theirs one first; false if the item must start
// one of its own.
bool join(Drafts& drafts, int i) {
  const char*& refusal = drafts.grouping.refusal[i];
  int target = -1;
  for (const Use& use : drafts.uses(i)) {
    if (!drafts.may_be_together(i, use.consumer)) continue;
    int group = drafts.group_of(use.consumer);
    if (target < 0) target = group;
    if (!merge_groups(drafts, target, group)) {
      refusal = "its consumers are in different groups";
      return false;
    }
  }
  if (target < 0) return false;
  refusal = join_group(drafts, i, target);
  return !refusal;
}

// An element-wise item that is read from memory too and is alone so far may be computed along with
// a long reduction of it.
void join_reduction_of(Drafts& drafts, int i) {
  int own = drafts.group_of(i);
  for (const Use& use : drafts.uses(i)) {
    int target = drafts.group_of(use.consumer);
    bool possible = drafts.may_be_together(i, use.consumer) && target >= 0 &&
                    drafts.draft(target).kind == GroupKind::reduce &&
                    drafts.draft(own).items.size() == 1;
    if (!possible || !bring_together(drafts, own, target) || join_group(drafts, i, target)) {
      continue;
    }
    drafts.draft(own).items.clear();
    return;
  }
}

void place(Drafts& drafts, int i) {
  const Op& op = *drafts.node(i).op;
  bool source = op.kind == OpKind::constant || op.kind == OpKind::iota;
  if (!source && (is_pointwise(op) || op.kind == OpKind::reduce) && join(drafts, i)) return;
  if (!drafts.part_of) merge_readers(drafts, i);
  start_group(drafts, i);
  // Its value goes to memory for some consumers; others may still be computed along with it.
  for (const Use& use : drafts.uses(i)) {
    if (!drafts.may_be_together(i, use.consumer)) continue;
    merge_groups(drafts, drafts.group_of(i), drafts.group_of(use.consumer));
  }
  if (!source && is_pointwise(op)) join_reduction_of(drafts, i);
}

// Groups that are to be one but have no edge between them.
void merge_parts(Drafts& drafts) {
  int groups = static_cast<int>(drafts.grouping.drafts.size());
  auto part = [&](int group) {
    return drafts.draft(group).items.empty() ? -1 : (*drafts.part_of)[drafts.draft(group).items[0]];
  };
  for (bool merged = true; merged;) {
    merged = false;
    for (int a = 0; a < groups; ++a) {
      for (int b = a + 1; b < groups; ++b) {
        if (part(a) >= 0 && part(a) == part(b)) merged |= merge_groups(drafts, a, b);
      }
    }
  }
}

// Whether all items of a part are in one group.
bool parts_are_whole(const Drafts& drafts) {
  std::vector<int> group_of_part(drafts.region.items.size(), -1);
  for (int i = 0; i < drafts.count(); ++i) {
    int group = drafts.group_of(i);
    if (group < 0) continue;
    int& known = group_of_part[(*drafts.part_of)[i]];
    if (known >= 0 && known != group) return false;
    known = group;
  }
  return true;
}

bool form_parts(Drafts& drafts) {
  for (int i = drafts.count() - 1; i >= 0; --i) {
    if ((*drafts.part_of)[i] >= 0) place(drafts, i);
  }
  merge_parts(drafts);
  attach_epilogues(drafts);
  return parts_are_whole(drafts);
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
  Drafts drafts(region);
  for (int i = drafts.count() - 1; i >= 0; --i) {
    if (!is_inlined(region, drafts.readers, i)) place(drafts, i);
  }
  merge_readers_of_leaves(drafts);
  attach_epilogues(drafts);
  if (!order_groups(drafts)) fail(Code::unsupported, "fusion: groups that wait for each other");
  return std::move(drafts.grouping);
}

std::optional<Grouping> group_as_given(const Region& region, const std::vector<int>& part_of) {
  Drafts drafts(region);
  drafts.part_of = &part_of;
  if (!form_parts(drafts) || !order_groups(drafts)) return std::nullopt;
  return std::move(drafts.grouping);
}

bool may_be_group(const Region& region, const std::vector<int>& items) {
  std::vector<int> part_of(region.items.size(), -1);
  for (int i : items) part_of[i] = 0;
  Drafts drafts(region);
  drafts.part_of = &part_of;
  return form_parts(drafts);
}

}  // namespace mt
