// SPDX-License-Identifier: Apache-2.0
// Two groups that go through the same elements become one, unless something outside must run
// between them.
#include <algorithm>
#include <functional>
#include <optional>

#include "fusion/drafts.h"
#include "fusion/relation.h"

namespace mt {
namespace {

struct Iteration {
  GroupKind kind;
  Shape rows, columns;
};

// Whether all that a group computes can be addressed over an iteration of as many rows and columns.
bool can_iterate(const Drafts& drafts, const Draft& group, const Iteration& other) {
  if (group.row_shape == other.rows && group.column_shape == other.columns) return true;
  Shape whole = other.rows;
  if (whole.rank() + other.columns.rank() > max_rank) return false;
  for (int64_t size : other.columns) whole.push_back(size);
  for (int i : group.items) {
    if (drafts.node(i).op->kind == OpKind::reduce) {
      if (!reshape(edge_layout(drafts.region, drafts.edges(i)[0]), whole)) return false;
    } else if (!fits(drafts, i, drafts.is_row(i) ? other.rows : whole)) {
      return false;
    }
  }
  return true;
}

// How two groups of as many elements can go through them together.
std::optional<Iteration> common_iteration(const Drafts& drafts, int group_a, int group_b) {
  const Draft &a = drafts.draft(group_a), &b = drafts.draft(group_b);
  auto of = [](const Draft& group) {
    return Iteration{group.kind, group.row_shape, group.column_shape};
  };
  if (a.kind != b.kind) {
    Draft split = a.kind == GroupKind::map ? a : b;
    const Draft& whole = a.kind == GroupKind::map ? b : a;
    if (!drafts.part_of) {
      int map = a.kind == GroupKind::map ? group_a : group_b;
      auto shares = [&](int i) { return shares_elements(drafts, i, map); };
      if (!spares_epilogue(drafts, map, whole.columns()) ||
          std::none_of(whole.items.begin(), whole.items.end(), shares)) {
        return std::nullopt;
      }
      // Values for each row of a reduction are about to make rows of their own.
      for (int i : split.items) {
        if (drafts.size(i) == split.rows() && drafts.finishes_rows[static_cast<size_t>(i)])
          return std::nullopt;
      }
    }
    if (can_iterate(drafts, split, of(whole))) return of(whole);
    if (split_rows(&split, whole.columns()) && can_iterate(drafts, whole, of(split))) {
      return of(split);
    }
    return std::nullopt;
  }
  if (a.columns() != b.columns()) return std::nullopt;
  if (can_iterate(drafts, b, of(a))) return of(a);
  if (can_iterate(drafts, a, of(b))) return of(b);
  return std::nullopt;
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
  std::optional<Iteration> common = common_iteration(drafts, a, b);
  if (!common) return false;
  Draft merged{common->kind, common->rows, common->columns, {}, {}, {}};
  // What one makes and the other reads must be read in the group's own order.
  for (int producer : {a, b}) {
    int consumer = producer == a ? b : a;
    for (int i : drafts.draft(producer).items) {
      for (const Use& use : drafts.uses(i)) {
        if (drafts.group_of(use.consumer) != consumer) continue;
        Relation found = relation(drafts, merged, i, use);
        if (found != (drafts.is_row(i) ? Relation::row : Relation::element)) return false;
      }
    }
  }
  if (!bring_together(drafts, a, b)) return false;
  int& place = drafts.place[static_cast<size_t>(a)];
  place = std::max(place, drafts.place[static_cast<size_t>(b)]);
  into.kind = common->kind;
  into.row_shape = common->rows;
  into.column_shape = common->columns;
  for (int i : from.items) {
    drafts.group_of(i) = a;
    into.items.push_back(i);
  }
  from.items.clear();
  std::sort(into.items.begin(), into.items.end(), std::greater<int>());
  return true;
}

}  // namespace mt
