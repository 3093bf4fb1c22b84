// SPDX-License-Identifier: Apache-2.0
#include "fusion/grouping/relation.h"

#include <algorithm>

#include "ops/order.h"

namespace mt {
namespace {

constexpr int deepest_search = 8;

// The reduction of rows of `columns` elements that item i is computed from; -1 if there is none.
int row_reduction_of(const GroupingState& state, int i, int64_t columns, int depth) {
  if (columns <= 1 || depth > deepest_search) return -1;
  for (const Edge& edge : state.edges(i)) {
    int input = edge.value;
    if (input < 0 || state.size(input) != state.size(i)) continue;
    const Op& op = *state.node(input).op;
    if (op.kind == OpKind::reduce) {
      ReductionShape shape = reduction_shape(state, input);
      if (shape.inner.empty() && shape.permutation.empty() &&
          element_count(shape.reduced) == columns &&
          state.has_room_for(state.size(input), columns)) {
        return input;
      }
    } else if (is_pointwise(op)) {
      int found = row_reduction_of(state, input, columns, depth + 1);
      if (found >= 0) return found;
    }
  }
  return -1;
}

// The values of item i's size that it reads, and those that these are computed from in turn.
void add_elements(const GroupingState& state, int i, std::vector<int>* values, int depth) {
  if (depth > deepest_search) return;
  for (const Edge& edge : state.edges(i)) {
    int input = edge.value;
    const Node& source = state.region.node_of(input);
    if (element_count(source.shape) != state.size(i)) continue;
    values->push_back(input);
    if (input >= 0 && is_pointwise(*source.op)) add_elements(state, input, values, depth + 1);
  }
}

// Whether a value of `size` elements that item i reads, or one it is computed from, is in `values`.
bool comes_from(const GroupingState& state, int i, int64_t size, const std::vector<int>& values,
                int depth) {
  if (depth > deepest_search) return false;
  for (const Edge& edge : state.edges(i)) {
    int input = edge.value;
    const Node& source = state.region.node_of(input);
    if (element_count(source.shape) != size) continue;
    if (std::find(values.begin(), values.end(), input) != values.end()) return true;
    if (input >= 0 && is_pointwise(*source.op) &&
        comes_from(state, input, size, values, depth + 1)) {
      return true;
    }
  }
  return false;
}

}  // namespace

Relation relation(const GroupingState& state, const ItemGroup& group, int i, const Use& use) {
  Layout layout = edge_layout(state.region, *use.edge);
  const Node& consumer = state.node(use.consumer);
  bool reduces = consumer.op->kind == OpKind::reduce;
  bool row_consumer = !reduces && state.is_row(use.consumer);
  if (!group.permutation.empty() && !row_consumer) {
    bool same = layout.shape == group.permuted_shape &&
                state.node(i).shape == group.permuted_shape && is_contiguous(layout) &&
                layout.offset == 0;
    return same ? Relation::element : Relation::none;
  }
  if (!reduces) layout = expand(layout, consumer.shape);
  int64_t count = element_count(layout.shape), rows = state.size(i);
  if (rows == count && is_contiguous(layout) && layout.offset == 0) {
    return row_consumer ? Relation::row : Relation::element;
  }
  // Constant along the columns, and row for row otherwise?
  if (reduces || row_consumer || layout.offset != 0 || rows == 0 || count % rows != 0) {
    return Relation::none;
  }
  std::optional<Layout> matrix = reshape(layout, {rows, count / rows});
  bool by_row = matrix && (rows == 1 || matrix->strides[0] == 1) && matrix->strides[1] == 0;
  return by_row ? Relation::row : Relation::none;
}

bool fits(const GroupingState& state, int i, const Shape& iteration) {
  const Node& n = state.node(i);
  if (n.shape == iteration) return true;
  for (const Edge& edge : state.edges(i)) {
    Layout layout = expand(edge_layout(state.region, edge), n.shape);
    if (!reshape(layout, iteration)) return false;
  }
  return true;
}

ReductionShape reduction_shape(const GroupingState& state, int i) {
  const Shape& shape = edge_layout(state.region, state.edges(i)[0]).shape;
  const Attributes& axes = state.node(i).attributes;
  auto is_reduced = [&](int d) { return std::find(axes.begin(), axes.end(), d) != axes.end(); };
  int inner_begin = shape.rank();
  while (inner_begin > 0 && !(is_reduced(inner_begin - 1) && shape[inner_begin - 1] != 1)) {
    --inner_begin;
  }
  // Trailing dimensions of size one change nothing.
  int64_t inner_size = 1;
  for (int d = inner_begin; d < shape.rank(); ++d) inner_size *= shape[d];
  if (inner_size == 1) inner_begin = shape.rank();
  ReductionShape result;
  Dims order;
  for (int pass = 0; pass < 3; ++pass) {
    for (int d = 0; d < shape.rank(); ++d) {
      bool inner = d >= inner_begin && !is_reduced(d);
      int part = inner ? 2 : is_reduced(d) ? 1 : 0;
      if (part != pass) continue;
      order.push_back(d);
      (part == 0 ? result.outer : part == 1 ? result.reduced : result.inner).push_back(shape[d]);
    }
  }
  for (int d = 0; d < order.rank(); ++d) {
    if (order[d] != d) result.permutation = order;
  }
  return result;
}

bool shares_elements(const GroupingState& state, int i, int g) {
  const ItemGroup& group = state.group(g);
  std::vector<int> values = group.items;
  for (int member : group.items) {
    for (const Edge& edge : state.edges(member)) values.push_back(edge.value);
  }
  return comes_from(state, i, group.rows() * group.columns(), values, 0);
}

bool comes_from_rows(const GroupingState& state, int i, int64_t columns) {
  return row_reduction_of(state, i, columns, 0) >= 0;
}

bool completes_rows(const GroupingState& state, int i) {
  for (const Edge& edge : state.edges(i)) {
    int input = edge.value;
    if (input < 0 || !is_pointwise(*state.node(input).op) || state.size(input) == 0 ||
        state.size(input) == state.size(i) || state.size(i) % state.size(input) != 0) {
      continue;
    }
    int reduction = row_reduction_of(state, input, state.size(i) / state.size(input), 0);
    if (reduction < 0) continue;
    std::vector<int> elements;
    add_elements(state, i, &elements, 0);
    if (comes_from(state, reduction, state.size(i), elements, 0)) return true;
  }
  return false;
}

std::vector<bool> finished_rows(const GroupingState& state) {
  std::vector<bool> finishes(state.region.items.size(), false);
  for (int i = 0; i < state.count(); ++i) {
    for (const Edge& edge : state.edges(i)) {
      int input = edge.value;
      if (input < 0 || state.size(input) != state.size(i)) continue;
      const Op& op = *state.node(input).op;
      bool from_rows = is_pointwise(op) && finishes[input];
      if (op.kind == OpKind::reduce) {
        ReductionShape shape = reduction_shape(state, input);
        int64_t columns = element_count(shape.reduced);
        from_rows =
            shape.inner.empty() && columns > 1 && state.has_room_for(state.size(input), columns);
      }
      if (from_rows) finishes[i] = true;
    }
  }
  return finishes;
}

}  // namespace mt
