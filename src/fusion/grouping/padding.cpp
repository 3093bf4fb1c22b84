// SPDX-License-Identifier: Apache-2.0
// Padding that only an element-wise group reads is generated in its registers, tile by tile, from
// the padded source. Gradients of slices, which are padded and added up, are made this way.
#include <algorithm>
#include <functional>

#include "backends/backend.h"
#include "fusion/grouping/grouping_state.h"
#include "ops/slice.h"

namespace mt {
namespace {

// Whether an item pads around its input but not between its elements, which fit a register.
bool pads(const GroupingState& state, int i) {
  const Node& node = state.node(i);
  if (node.op != &pad_op || state.item(i).stored || size_of(node.dtype) > 8) return false;
  const Shape& x = edge_layout(state.region, state.edges(i)[0]).shape;
  if (element_count(x) == 0 || state.size(i) <= 1) return false;
  for (int d = 0; d < x.rank(); ++d) {
    if (x[d] > 1 && node.attributes[2 * static_cast<size_t>(d) + 1] != 1) return false;
  }
  return true;
}

// Adds padding to the element-wise group that reads it; returns the refusal to report or nullptr.
const char* attach(GroupingState& state, int i) {
  const Shape& shape = state.node(i).shape;
  int target = -1;
  for (const Use& use : state.uses(i)) {
    const OpKind kind = state.node(use.consumer).op->kind;
    if (kind == OpKind::contract || kind == OpKind::call) return nullptr;  // read as before
    const int group = state.group_of(use.consumer);
    if (group < 0 || (target >= 0 && group != target) || !state.may_be_together(i, use.consumer)) {
      return "its consumers are in different groups";
    }
    target = group;
    const Layout layout = edge_layout(state.region, *use.edge);
    const bool whole = layout.shape == shape && layout.offset == 0 && is_contiguous(layout);
    if (!whole || state.node(use.consumer).shape != shape) {
      return "it is read in another order or repeated";
    }
  }
  if (target < 0) return nullptr;
  ItemGroup& group = state.group(target);
  if (group.kind != GroupKind::map || group.contraction >= 0 || !group.permutation.empty()) {
    return "it is padded for more than element-wise work";
  }
  if (group.items.size() >= most_items) return "the group is full";
  state.group(state.group_of(i)).items.clear();
  state.group_of(i) = target;
  std::vector<int>& items = group.items;
  items.insert(std::upper_bound(items.begin(), items.end(), i, std::greater<int>()), i);
  const int padded = state.edges(i)[0].value;
  if (padded >= 0 && state.group_of(padded) >= 0)
    state.grouping.refusal[padded] = "it is padded as it is read from memory";
  return nullptr;
}

}  // namespace

void attach_padding(GroupingState& state) {
  if (!state.region.device->backend->reads_padded()) return;
  // The source of padding that has been attached must be in memory.
  for (int i = state.count() - 1; i >= 0; --i) {
    if (state.group_of(i) >= 0 && pads(state, i)) state.grouping.refusal[i] = attach(state, i);
  }
}

}  // namespace mt
