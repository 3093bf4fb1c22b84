// SPDX-License-Identifier: Apache-2.0
// How a group starts, and what may join it.
#include "fusion/grouping/grouping_state.h"
#include "fusion/grouping/relation.h"

namespace mt {
namespace {

Shape reduced_shape(const GroupingState& state, int i) {
  return edge_layout(state.region, state.edges(i)[0]).shape;
}

void shape_reduction(const GroupingState& state, int i, ItemGroup* group) {
  ReductionShape shape = reduction_shape(state, i);
  const int64_t rows = element_count(shape.outer), columns = element_count(shape.reduced);
  bool in_rows = shape.inner.empty() && state.has_room_for(rows, columns);
  group->kind = in_rows ? GroupKind::row : GroupKind::reduce;
  group->row_shape = shape.outer;
  group->column_shape = shape.reduced;
  for (int64_t size : shape.inner) group->column_shape.push_back(size);
  group->inner = element_count(shape.inner);
  group->permutation = shape.permutation;
  if (!shape.permutation.empty()) group->permuted_shape = reduced_shape(state, i);
}

const char* join_pointwise(GroupingState& state, int i, int target, Relation relation) {
  ItemGroup* group = &state.group(target);
  if (relation == Relation::element && group->kind != GroupKind::map && !state.part_of &&
      state.finishes_rows[i]) {
    return "it finishes rows of its own";
  }
  if (group->kind == GroupKind::reduce && !state.part_of && state.goes_to_memory(i, target) &&
      completes_rows(state, i)) {
    return "it is read from memory too, and its rows are at hand elsewhere";
  }
  if (relation == Relation::row) {
    if (group->kind == GroupKind::map) {
      int64_t columns = state.size(i) ? group->rows() / state.size(i) : 0;
      if (!state.part_of && !comes_from_rows(state, i, columns)) {
        return "it is repeated along rows";
      }
      if (!state.part_of && !spares_epilogue(state, target, columns)) {
        return "a contraction finishes other rows";
      }
      if (!split_rows(group, columns)) return "the rows do not follow the dimensions";
    }
    if (group->kind != GroupKind::row || state.size(i) != group->rows()) {
      return "it is repeated along rows";
    }
    if (!fits(state, i, group->row_shape)) return "its strides do not follow the rows";
    state.make_row(i);
    return nullptr;
  }
  if (!group->permutation.empty()) {
    if (state.goes_to_memory(i, target)) return "it is stored in another order";
    if (state.node(i).op->kind == OpKind::random) return "it is drawn in another order";
    return nullptr;
  }
  Shape iteration = group->row_shape;
  for (int64_t size : group->column_shape) iteration.push_back(size);
  if (!fits(state, i, iteration)) return "its strides do not follow the group's dimensions";
  return nullptr;
}

const char* join_reduction(GroupingState& state, int i, int target, Relation relation) {
  ItemGroup* group = &state.group(target);
  ReductionShape shape = reduction_shape(state, i);
  int64_t columns = element_count(shape.reduced);
  if (!shape.inner.empty()) return "it reduces leading dimensions";
  if (columns == 0 || !state.has_room_for(element_count(shape.outer), columns))
    return "its rows are too long";
  if (group->row_shape.rank() + shape.reduced.rank() > max_rank) {
    return "the group would have too many dimensions";
  }
  if (shape.permutation.empty()) {
    // Its input must be addressable over the group's dimensions, which may differ from its own,
    // since its results may have been reshaped.
    Shape iteration = group->row_shape;
    bool splits = relation == Relation::row && group->kind == GroupKind::map;
    const Shape& rest = group->kind == GroupKind::map ? shape.reduced : group->column_shape;
    for (int d = 0; !splits && d < rest.rank(); ++d) iteration.push_back(rest[d]);
    Layout layout = edge_layout(state.region, state.edges(i)[0]);
    if (element_count(iteration) != element_count(layout.shape) || !reshape(layout, iteration)) {
      return "its strides do not follow the group's dimensions";
    }
  }
  if (group->kind == GroupKind::map && relation == Relation::element) {
    // The group works only on the reduction's results, so its items become row values.
    group->kind = GroupKind::row;
    group->column_shape = shape.reduced;
    group->permutation = shape.permutation;
    if (!shape.permutation.empty()) group->permuted_shape = reduced_shape(state, i);
    for (int member : group->items) state.make_row(member);
  } else if (relation == Relation::row) {
    if (!shape.permutation.empty()) return "it reduces in another order";
    if (!state.part_of && group->kind == GroupKind::map) {
      if (!spares_epilogue(state, target, columns)) return "a contraction finishes other rows";
      if (!shares_elements(state, i, target)) return "nothing else of its rows is read along";
    }
    if (group->kind == GroupKind::map && !split_rows(group, columns)) {
      return "the rows do not follow the dimensions";
    }
    if (!group->permutation.empty()) return "the group works in another order";
  } else {
    return "the group does not work on its rows";
  }
  if (group->kind != GroupKind::row || group->rows() != state.size(i) ||
      group->columns() != columns) {
    return "its rows differ from the group's";
  }
  state.make_row(i);
  return nullptr;
}

}  // namespace

void start_group(GroupingState& state, int i) {
  ItemGroup group;
  const Node& root = state.node(i);
  if (is_pointwise(*root.op)) {
    group.kind = GroupKind::map;
    group.row_shape = root.shape;
  } else if (root.op->kind == OpKind::reduce) {
    shape_reduction(state, i, &group);
    state.make_row(i);
  } else {
    group.kind = root.op->kind == OpKind::contract ? GroupKind::contract : GroupKind::call;
  }
  group.items.push_back(i);
  int index = static_cast<int>(state.grouping.groups.size());
  state.group_of(i) = index;
  state.place[index] = -index;  // items are placed last first
  state.grouping.groups.push_back(std::move(group));
}

bool split_rows(ItemGroup* group, int64_t columns) {
  const Shape& shape = group->row_shape;
  int split = shape.rank();
  int64_t count = 1;
  while (split > 0 && count < columns) count *= shape[--split];
  if (count != columns) return false;
  Shape rows(shape.data(), split), rest(shape.data() + split, shape.rank() - split);
  group->kind = GroupKind::row;
  group->row_shape = rows;
  group->column_shape = rest;
  return true;
}

const char* join_group(GroupingState& state, int i, int target) {
  ItemGroup& group = state.group(target);
  if (group.kind == GroupKind::contract) return "a contraction reads it from memory";
  if (group.kind == GroupKind::call) return "an operator that runs alone reads it";
  if (group.items.size() >= most_items) return "the group is full";
  Relation common = Relation::none;
  for (const Use& use : state.uses(i)) {
    if (state.group_of(use.consumer) != target) continue;
    Relation found = relation(state, group, i, use);
    if (found == Relation::none) return "it is read in another order or repeated";
    if (common != Relation::none && found != common) return "it is read both by element and by row";
    common = found;
  }
  const char* refusal = state.node(i).op->kind == OpKind::reduce
                            ? join_reduction(state, i, target, common)
                            : join_pointwise(state, i, target, common);
  if (refusal) return refusal;
  group.items.push_back(i);
  state.group_of(i) = target;
  return nullptr;
}

}  // namespace mt
