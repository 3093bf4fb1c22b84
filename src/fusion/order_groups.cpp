// SPDX-License-Identifier: Apache-2.0
// Groups in an order in which they can run: by their last items, and where that does not do, what
// is read first.
#include <algorithm>

#include "fusion/drafts.h"

namespace mt {
namespace {

// What the group reads of others, as far as it is not sorted yet; false if some of it waits for
// this.
bool push_producers(const Drafts& drafts, int group, const std::vector<char>& state,
                    std::vector<int>* stack) {
  auto push_inputs = [&](int i) {
    for (int e = 0; e < drafts.item(i).edge_count; ++e) {
      int value = drafts.edges(i)[e].value;
      int from = value < 0 ? -1 : drafts.group_of(value);
      if (from < 0 || from == group) continue;
      if (state[static_cast<size_t>(from)] == 1) return false;
      if (state[static_cast<size_t>(from)] == 0) stack->push_back(from);
    }
    return true;
  };
  const Draft& draft = drafts.draft(group);
  for (int i : draft.items) {
    if (!push_inputs(i)) return false;
  }
  return draft.contraction < 0 || push_inputs(draft.contraction);
}

}  // namespace

bool order_groups(Drafts& drafts) {
  size_t count = drafts.grouping.drafts.size();
  std::vector<int> order;
  for (size_t g = 0; g < count; ++g) {
    std::vector<int>& items = drafts.grouping.drafts[g].items;
    std::reverse(items.begin(), items.end());
    if (!items.empty()) order.push_back(static_cast<int>(g));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return drafts.draft(a).items.back() < drafts.draft(b).items.back();
  });
  std::vector<int> sorted, stack;
  std::vector<char> state(count, 0);  // 1: what it reads is on the stack, 2: sorted
  for (int root : order) {
    stack.push_back(root);
    while (!stack.empty()) {
      int g = stack.back();
      char& now = state[static_cast<size_t>(g)];
      if (now == 0) {
        now = 1;
        if (!push_producers(drafts, g, state, &stack)) return false;
        continue;
      }
      stack.pop_back();
      if (now == 1) sorted.push_back(g);
      now = 2;
    }
  }
  std::vector<Draft> kept;
  kept.reserve(sorted.size());
  std::vector<int> renamed(count, -1);
  for (int g : sorted) {
    renamed[static_cast<size_t>(g)] = static_cast<int>(kept.size());
    kept.push_back(std::move(drafts.draft(g)));
  }
  drafts.grouping.drafts = std::move(kept);
  for (int& group : drafts.grouping.group_of) {
    if (group >= 0) group = renamed[static_cast<size_t>(group)];
  }
  return true;
}

}  // namespace mt
