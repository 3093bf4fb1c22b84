// SPDX-License-Identifier: Apache-2.0
// Puts groups in an order in which they can run: by their last items, but producers first. A group
// that leaves next to nothing in working memory, since it writes only results, runs as soon as it
// can: a weight update does not wait for the whole backward pass, and its inputs are released.
#include <algorithm>

#include "fusion/grouping/grouping_state.h"

namespace mt {
namespace {

// Pushes the groups that `g` reads from and that are not sorted yet; false if one of them waits for
// `g` itself.
bool push_producers(const GroupingState& state, int g, const std::vector<char>& visits,
                    std::vector<int>* stack) {
  auto push_inputs = [&](int i) {
    for (const Edge& edge : state.edges(i)) {
      int value = edge.value;
      int from = value < 0 ? -1 : state.group_of(value);
      if (from < 0 || from == g) continue;
      if (visits[from] == 1) return false;
      if (visits[from] == 0) stack->push_back(from);
    }
    return true;
  };
  const ItemGroup& group = state.group(g);
  for (int i : group.items) {
    if (!push_inputs(i)) return false;
  }
  return group.contraction < 0 || push_inputs(group.contraction);
}

// Bytes that a group leaves in the plan's working memory for other groups.
int64_t kept_bytes(const GroupingState& state, int group) {
  int64_t bytes = 0;
  for (int i : state.group(group).items) {
    if (state.item(i).stored) continue;
    for (const Use& use : state.uses(i)) {
      if (state.group_of(use.consumer) == group) continue;
      bytes += state.node(i).bytes();
      break;
    }
  }
  return bytes;
}

template <class F>
void for_inputs(const GroupingState& state, int g, F&& f) {
  const ItemGroup& group = state.group(g);
  auto of = [&](int i) {
    for (const Edge& edge : state.edges(i)) f(edge.value);
  };
  for (int i : group.items) of(i);
  if (group.contraction >= 0) of(group.contraction);
}

// In a valid order, moves groups that leave little in memory up to where their inputs are ready.
// They stay behind other readers of the same leaves, whose memory they may then take over.
void hasten(const GroupingState& state, std::vector<int>* sorted) {
  constexpr int64_t little = 4096;
  // For each group, the position that it goes after; for each leaf, that of its last reader so far.
  std::vector<int> place(state.grouping.groups.size(), -1), read(state.region.leaves.size(), -1);
  std::vector<std::pair<int, bool>> key(place.size());
  for (int at = 0; at < static_cast<int>(sorted->size()); ++at) {
    int group = (*sorted)[at];
    bool early = kept_bytes(state, group) <= little;
    int after = early ? -1 : at;
    for_inputs(state, group, [&](int value) {
      int from = value < 0 ? -1 : state.group_of(value);
      if (value < 0) after = std::max(after, read[~value]);
      if (from >= 0 && from != group) after = std::max(after, place[from]);
    });
    for_inputs(state, group, [&](int value) {
      if (value < 0) read[~value] = std::max(read[~value], after);
    });
    place[group] = after;
    key[group] = {after, early};
  }
  std::stable_sort(sorted->begin(), sorted->end(), [&](int a, int b) { return key[a] < key[b]; });
}

}  // namespace

bool order_groups(GroupingState& state) {
  size_t count = state.grouping.groups.size();
  std::vector<int> order;
  for (size_t g = 0; g < count; ++g) {
    std::vector<int>& items = state.grouping.groups[g].items;
    std::reverse(items.begin(), items.end());
    if (!items.empty()) order.push_back(static_cast<int>(g));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return state.group(a).items.back() < state.group(b).items.back();
  });
  std::vector<int> sorted, stack;
  std::vector<char> visits(count, 0);  // 1: what it reads is on the stack, 2: sorted
  for (int root : order) {
    stack.push_back(root);
    while (!stack.empty()) {
      int g = stack.back();
      char& now = visits[g];
      if (now == 0) {
        now = 1;
        if (!push_producers(state, g, visits, &stack)) return false;
        continue;
      }
      stack.pop_back();
      if (now == 1) sorted.push_back(g);
      now = 2;
    }
  }
  hasten(state, &sorted);
  std::vector<ItemGroup> kept;
  kept.reserve(sorted.size());
  std::vector<int> renamed(count, -1);
  for (int g : sorted) {
    renamed[g] = static_cast<int>(kept.size());
    kept.push_back(std::move(state.group(g)));
  }
  state.grouping.groups = std::move(kept);
  for (int& group : state.grouping.group_of) {
    if (group >= 0) group = renamed[group];
  }
  return true;
}

}  // namespace mt
