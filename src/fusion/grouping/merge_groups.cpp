// SPDX-License-Identifier: Apache-2.0
// Two groups that go through the same elements become one, unless something outside must run
// between them.
#include <algorithm>
#include <functional>
#include <optional>

#include "fusion/grouping/drafts.h"
#include "fusion/grouping/relation.h"
#include "ops/order.h"

namespace mt {
namespace {

struct Iteration {
  GroupKind kind;
  Shape rows, columns;
};

// How a group goes through its elements. A reduction of leading dimensions goes through rows, whose
// totals it makes. nullopt if it must stay by itself.
std::optional<Iteration> iteration_of(const Drafts& drafts, const Draft& group) {
  if (!group.permutation.empty()) return std::nullopt;
  if (group.kind == GroupKind::map || group.kind == GroupKind::row) {
    return Iteration{group.kind, group.row_shape, group.column_shape};
  }
  if (group.kind != GroupKind::reduce || drafts.panels_for_totals == 0 || group.rows() != 1 ||
      group.inner <= 1 || group.inner > longest_row) {
    return std::nullopt;
  }
  Draft rows{GroupKind::map, group.column_shape, {}, {}, {}, {}};
  if (!split_rows(&rows, group.inner)) return std::nullopt;
  return Iteration{GroupKind::row, rows.row_shape, rows.column_shape};
}

// Whether a row group is better for having totals. Very short rows are gone through across
// otherwise, and few panels of rows leave threads without work.
bool rewards_totals(const Drafts& drafts, const Iteration& iteration) {
  constexpr int64_t short_row = 16, little = 32 << 10;
  int64_t rows = element_count(iteration.rows), columns = element_count(iteration.columns);
  return columns > short_row &&
         (rows >= drafts.panels_for_totals * column_panel(columns) || rows * columns <= little);
}

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
  std::optional<Iteration> of_a = iteration_of(drafts, a), of_b = iteration_of(drafts, b);
  if (!of_a || !of_b) return std::nullopt;
  bool reduces = a.kind == GroupKind::reduce || b.kind == GroupKind::reduce;
  if (reduces && !drafts.part_of &&
      !rewards_totals(drafts, of_a->kind == GroupKind::row ? *of_a : *of_b)) {
    return std::nullopt;
  }
  if (of_a->kind != of_b->kind) {
    Draft split = a.kind == GroupKind::map ? a : b;
    const Draft& whole = a.kind == GroupKind::map ? b : a;
    const Iteration& of_whole = a.kind == GroupKind::map ? *of_b : *of_a;
    int64_t columns = element_count(of_whole.columns);
    if (!drafts.part_of) {
      int map = a.kind == GroupKind::map ? group_a : group_b;
      auto shares = [&](int i) { return shares_elements(drafts, i, map); };
      // Rows with totals are no epilogue on tiles that a contraction finishes.
      if (!spares_epilogue(drafts, map, reduces ? 0 : columns) ||
          std::none_of(whole.items.begin(), whole.items.end(), shares)) {
        return std::nullopt;
      }
      // Values for each row of a reduction are about to make rows of their own.
      for (int i : split.items) {
        if (drafts.size(i) == split.rows() && drafts.finishes_rows[i]) return std::nullopt;
      }
    }
    if (can_iterate(drafts, split, of_whole)) return of_whole;
    if (split_rows(&split, columns)) {
      Iteration of_split{split.kind, split.row_shape, split.column_shape};
      if (can_iterate(drafts, whole, of_split)) return of_split;
    }
    return std::nullopt;
  }
  if (element_count(of_a->columns) != element_count(of_b->columns)) return std::nullopt;
  if (can_iterate(drafts, b, *of_a)) return of_a;
  if (can_iterate(drafts, a, *of_b)) return of_b;
  return std::nullopt;
}

// Whether item i, of a group that goes through rows, makes totals of them.
bool makes_totals(const Drafts& drafts, const Draft& group, int i) {
  return drafts.is_total(i) ||
         (group.kind == GroupKind::reduce && drafts.node(i).op->kind == OpKind::reduce);
}

}  // namespace

bool merge_groups(Drafts& drafts, int a, int b) {
  if (a == b) return true;
  if (a < 0 || b < 0) return false;
  Draft &into = drafts.draft(a), &from = drafts.draft(b);
  if (into.items.size() + from.items.size() >= most_items) return false;
  const int64_t elements = into.rows() * into.columns();
  // Groups without elements may differ in how many rows they have, and rows are reduced even so.
  if (elements == 0 || elements != from.rows() * from.columns()) return false;
  std::optional<Iteration> common = common_iteration(drafts, a, b);
  if (!common) return false;
  Draft merged{common->kind, common->rows, common->columns, {}, {}, {}};
  // What one makes and the other reads must be read in the group's own order.
  for (int producer : {a, b}) {
    int consumer = producer == a ? b : a;
    for (int i : drafts.draft(producer).items) {
      for (const Use& use : drafts.uses(i)) {
        if (drafts.group_of(use.consumer) != consumer) continue;
        if (makes_totals(drafts, drafts.draft(producer), i)) return false;  // not there yet
        Relation found = relation(drafts, merged, i, use);
        if (found != (drafts.is_row(i) ? Relation::row : Relation::element)) return false;
      }
    }
  }
  if (!bring_together(drafts, a, b)) return false;
  int& place = drafts.place[a];
  place = std::max(place, drafts.place[b]);
  for (int group : {a, b}) {
    for (int i : drafts.draft(group).items) {
      if (makes_totals(drafts, drafts.draft(group), i)) drafts.make_total(i);
    }
  }
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
