// SPDX-License-Identifier: Apache-2.0
// Two groups that go through the same elements become one, unless something outside must run
// between them.
#include <algorithm>
#include <functional>

#include "fusion/drafts.h"
#include "fusion/relation.h"

namespace mt {
namespace {

// Whether something that reads from group a, itself in neither, is read by group b, directly or
// through others.
bool runs_between(const Drafts& drafts, int a, int b) {
  std::vector<int> open;
  std::vector<bool> seen(drafts.grouping.drafts.size(), false);
  auto visit = [&](int group, bool from_a) {
    for (int i : drafts.draft(group).items) {
      for (const Use& use : drafts.uses(i)) {
        int next = drafts.group_of(use.consumer);
        if (next == b && !from_a) return true;
        if (next < 0 || next == a || next == b || seen[static_cast<size_t>(next)]) continue;
        seen[static_cast<size_t>(next)] = true;
        open.push_back(next);
      }
    }
    return false;
  };
  visit(a, true);
  while (!open.empty()) {
    int group = open.back();
    open.pop_back();
    if (visit(group, false)) return true;
  }
  return false;
}

bool is_open(const Draft& group) {
  return (group.kind == GroupKind::map || group.kind == GroupKind::row) &&
         group.permutation.empty();
}

}  // namespace

bool merge_groups(Drafts& drafts, int a, int b) {
  if (a == b) return true;
  if (a < 0 || b < 0) return false;
  Draft &into = drafts.draft(a), &from = drafts.draft(b);
  if (!is_open(into) || !is_open(from)) return false;
  if (into.items.size() + from.items.size() >= most_items) return false;
  if (into.rows() * into.columns() != from.rows() * from.columns()) return false;
  if (runs_between(drafts, a, b) || runs_between(drafts, b, a)) return false;
  Draft split = into.kind == GroupKind::map ? into : from;
  const Draft& whole = into.kind == GroupKind::map ? from : into;
  if (into.kind != from.kind) {
    // Values for each row of a reduction are about to make rows of their own.
    for (int i : split.items) {
      if (!drafts.part_of && drafts.size(i) == split.rows() && finishes_rows(drafts, i)) {
        return false;
      }
    }
    if (!split_rows(&split, whole.columns())) return false;
  }
  const Draft& other = into.kind == from.kind ? from : split;
  const Draft& same = into.kind == from.kind ? into : whole;
  if (other.row_shape != same.row_shape || other.column_shape != same.column_shape) return false;
  // What one makes and the other reads must be read in the group's own order.
  for (int producer : {a, b}) {
    int consumer = producer == a ? b : a;
    for (int i : drafts.draft(producer).items) {
      for (const Use& use : drafts.uses(i)) {
        if (drafts.group_of(use.consumer) != consumer) continue;
        Relation found = relation(drafts, same, i, use);
        if (found != (drafts.is_row(i) ? Relation::row : Relation::element)) return false;
      }
    }
  }
  into.kind = same.kind;
  Shape rows = same.row_shape, columns = same.column_shape;
  into.row_shape = rows;
  into.column_shape = columns;
  for (int i : from.items) {
    drafts.group_of(i) = a;
    into.items.push_back(i);
  }
  from.items.clear();
  std::sort(into.items.begin(), into.items.end(), std::greater<int>());
  return true;
}

}  // namespace mt
