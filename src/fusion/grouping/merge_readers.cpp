// SPDX-License-Identifier: Apache-2.0
// Merges groups that read the same whole value, where possible: it is then read once, and if it is
// a contraction they can be its epilogue.
#include <iterator>

#include "fusion/grouping/grouping_state.h"

namespace mt {
namespace {

// The groups that read all of a value, element by element or otherwise. Remembers a reader of each
// of the latest four that could not be merged: comparing all would take quadratic time.
class ReaderGroups {
 public:
  ReaderGroups(GroupingState& state, int64_t size) : state_(state), size_(size) {}

  void add(int reader) {
    int group = state_.group_of(reader);
    if (group < 0 || state_.group(group).rows() * state_.group(group).columns() != size_) return;
    for (int known : known_) {
      if (known >= 0 && merge_groups(state_, state_.group_of(known), group)) return;
    }
    known_[next_++ % std::size(known_)] = reader;
  }

 private:
  GroupingState& state_;
  int64_t size_;
  int known_[4] = {-1, -1, -1, -1};
  size_t next_ = 0;
};

}  // namespace

void merge_readers(GroupingState& state, int i) {
  ReaderGroups groups(state, state.size(i));
  for (const Use& use : state.uses(i)) groups.add(use.consumer);
}

void merge_readers_of_leaves(GroupingState& state) {
  const Region& region = state.region;
  std::vector<ReaderGroups> groups;
  groups.reserve(region.leaves.size());
  for (const Leaf& leaf : region.leaves) {
    groups.emplace_back(state, element_count(leaf.node->shape));
  }
  for (int i = 0; i < state.count(); ++i) {
    for (const Edge& edge : state.edges(i)) {
      int value = edge.value;
      if (value < 0) groups[~value].add(i);
    }
  }
}

}  // namespace mt
