// SPDX-License-Identifier: Apache-2.0
// Merges two groups that iterate over the same elements, unless another group must run between
// them.
#include <algorithm>
#include <functional>
#include <optional>

#include "fusion/grouping/grouping_state.h"
#include "fusion/grouping/relation.h"
#include "ops/order.h"

namespace mt {
namespace {

struct Iteration {
  GroupKind kind;
  Shape rows, columns;
};

// How a group iterates over its elements. A reduction of leading dimensions iterates over rows and
// makes totals of them. nullopt if the group must stay by itself.
std::optional<Iteration> iteration_of(const GroupingState& state, const ItemGroup& group) {
  if (!group.permutation.empty()) return std::nullopt;
  if (group.kind == GroupKind::map || group.kind == GroupKind::row) {
    return Iteration{group.kind, group.row_shape, group.column_shape};
  }
  if (group.kind != GroupKind::reduce || state.panels_for_totals == 0 || group.rows() != 1 ||
      group.inner <= 1 ||
      !state.has_room_for(element_count(group.column_shape) / group.inner, group.inner)) {
    return std::nullopt;
  }
  ItemGroup rows{GroupKind::map, group.column_shape, {}, {}, {}, {}};
  if (!split_rows(&rows, group.inner)) return std::nullopt;
  return Iteration{GroupKind::row, rows.row_shape, rows.column_shape};
}

// Whether totals pay off in a row group. Very short rows are otherwise processed across rows, and
// few panels of rows leave threads without work.
bool rewards_totals(const GroupingState& state, const Iteration& iteration) {
  constexpr int64_t short_row = 16, little = 32 << 10;
  int64_t rows = element_count(iteration.rows), columns = element_count(iteration.columns);
  return columns > short_row &&
         (rows >= state.panels_for_totals * column_panel(columns) || rows * columns <= little);
}

// Whether all that a group computes can be addressed over another iteration of as many elements.
bool can_iterate(const GroupingState& state, const ItemGroup& group, const Iteration& other) {
  if (group.row_shape == other.rows && group.column_shape == other.columns) return true;
  Shape whole = other.rows;
  if (whole.rank() + other.columns.rank() > max_rank) return false;
  for (int64_t size : other.columns) whole.push_back(size);
  for (int i : group.items) {
    if (state.node(i).op->kind == OpKind::reduce) {
      if (!reshape(edge_layout(state.region, state.edges(i)[0]), whole)) return false;
    } else if (!fits(state, i, state.is_row(i) ? other.rows : whole)) {
      return false;
    }
  }
  return true;
}

// Whether both iterate over rows in the same permuted order, such as the channels of images.
bool goes_alike(const ItemGroup& a, const ItemGroup& b) {
  auto sizes = [](const Shape& shape) {
    Shape result;
    for (int64_t size : shape) {
      if (size != 1) result.push_back(size);
    }
    return result;
  };
  return !a.permutation.empty() && a.permutation == b.permutation && a.kind == GroupKind::row &&
         b.kind == GroupKind::row && a.permuted_shape == b.permuted_shape &&
         sizes(a.row_shape) == sizes(b.row_shape) && a.column_shape == b.column_shape;
}

// An iteration that two groups of equally many elements can share.
std::optional<Iteration> common_iteration(const GroupingState& state, int group_a, int group_b) {
  const ItemGroup &a = state.group(group_a), &b = state.group(group_b);
  if (goes_alike(a, b)) return Iteration{a.kind, a.row_shape, a.column_shape};
  std::optional<Iteration> of_a = iteration_of(state, a), of_b = iteration_of(state, b);
  if (!of_a || !of_b) return std::nullopt;
  bool reduces = a.kind == GroupKind::reduce || b.kind == GroupKind::reduce;
  if (reduces && !state.part_of &&
      !rewards_totals(state, of_a->kind == GroupKind::row ? *of_a : *of_b)) {
    return std::nullopt;
  }
  if (of_a->kind != of_b->kind) {
    ItemGroup split = a.kind == GroupKind::map ? a : b;
    const ItemGroup& whole = a.kind == GroupKind::map ? b : a;
    const Iteration& of_whole = a.kind == GroupKind::map ? *of_b : *of_a;
    int64_t columns = element_count(of_whole.columns);
    if (!state.part_of) {
      int map = a.kind == GroupKind::map ? group_a : group_b;
      auto shares = [&](int i) { return shares_elements(state, i, map); };
      // Rows with totals cannot be an epilogue on the tiles that a contraction finishes.
      if (!spares_epilogue(state, map, reduces ? 0 : columns) ||
          std::none_of(whole.items.begin(), whole.items.end(), shares)) {
        return std::nullopt;
      }
      // An item with one value per row of a reduction is about to form rows of its own.
      for (int i : split.items) {
        if (state.size(i) == split.rows() && state.finishes_rows[i]) return std::nullopt;
      }
    }
    if (can_iterate(state, split, of_whole)) return of_whole;
    if (split_rows(&split, columns)) {
      Iteration of_split{split.kind, split.row_shape, split.column_shape};
      if (can_iterate(state, whole, of_split)) return of_split;
    }
    return std::nullopt;
  }
  if (element_count(of_a->columns) != element_count(of_b->columns)) return std::nullopt;
  if (can_iterate(state, b, *of_a)) return of_a;
  if (can_iterate(state, a, *of_b)) return of_b;
  return std::nullopt;
}

// Whether item i, in a group that iterates over rows, makes totals of them.
bool makes_totals(const GroupingState& state, const ItemGroup& group, int i) {
  return state.is_total(i) ||
         (group.kind == GroupKind::reduce && state.node(i).op->kind == OpKind::reduce);
}

}  // namespace

bool merge_groups(GroupingState& state, int a, int b) {
  if (a == b) return true;
  if (a < 0 || b < 0) return false;
  ItemGroup &into = state.group(a), &from = state.group(b);
  if (into.items.size() + from.items.size() >= most_items) return false;
  const int64_t elements = into.rows() * into.columns();
  // Groups without elements may differ in their number of rows, over which they still reduce.
  if (elements == 0 || elements != from.rows() * from.columns()) return false;
  std::optional<Iteration> common = common_iteration(state, a, b);
  if (!common) return false;
  ItemGroup merged{common->kind, common->rows, common->columns, {}, {}, {}};
  merged.permutation = into.permutation;
  // What one makes and the other reads must be read in the merged group's own order.
  for (int producer : {a, b}) {
    int consumer = producer == a ? b : a;
    for (int i : state.group(producer).items) {
      for (const Use& use : state.uses(i)) {
        if (state.group_of(use.consumer) != consumer) continue;
        if (makes_totals(state, state.group(producer), i)) return false;  // not complete yet
        Relation found = relation(state, merged, i, use);
        if (found != (state.is_row(i) ? Relation::row : Relation::element)) return false;
      }
    }
  }
  if (!bring_together(state, a, b)) return false;
  int& place = state.place[a];
  place = std::max(place, state.place[b]);
  for (int group : {a, b}) {
    for (int i : state.group(group).items) {
      if (makes_totals(state, state.group(group), i)) state.make_total(i);
    }
  }
  into.kind = common->kind;
  into.row_shape = common->rows;
  into.column_shape = common->columns;
  for (int i : from.items) {
    state.group_of(i) = a;
    into.items.push_back(i);
  }
  from.items.clear();
  std::sort(into.items.begin(), into.items.end(), std::greater<int>());
  return true;
}

}  // namespace mt
