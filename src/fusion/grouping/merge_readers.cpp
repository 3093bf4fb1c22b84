// SPDX-License-Identifier: Apache-2.0
// Groups that read the same value, whole, become one where that can be: it is read once, and if it
// is a contraction they can be its epilogue.
#include <iterator>

#include "fusion/grouping/drafts.h"

namespace mt {
namespace {

// The groups that read a value element by element or otherwise whole. Of those that could not be
// merged it remembers a reader each, the latest four: comparing all would take quadratic time.
class ReaderGroups {
 public:
  ReaderGroups(Drafts& drafts, int64_t size) : drafts_(drafts), size_(size) {}

  void add(int reader) {
    int group = drafts_.group_of(reader);
    if (group < 0 || drafts_.draft(group).rows() * drafts_.draft(group).columns() != size_) return;
    for (int known : known_) {
      if (known >= 0 && merge_groups(drafts_, drafts_.group_of(known), group)) return;
    }
    known_[next_++ % std::size(known_)] = reader;
  }

 private:
  Drafts& drafts_;
  int64_t size_;
  int known_[4] = {-1, -1, -1, -1};
  size_t next_ = 0;
};

}  // namespace

void merge_readers(Drafts& drafts, int i) {
  ReaderGroups groups(drafts, drafts.size(i));
  for (const Use& use : drafts.uses(i)) groups.add(use.consumer);
}

void merge_readers_of_leaves(Drafts& drafts) {
  const Region& region = drafts.region;
  std::vector<ReaderGroups> groups;
  groups.reserve(region.leaves.size());
  for (const Leaf& leaf : region.leaves) {
    groups.emplace_back(drafts, element_count(leaf.node->shape));
  }
  for (int i = 0; i < drafts.count(); ++i) {
    for (const Edge& edge : drafts.edges(i)) {
      int value = edge.value;
      if (value < 0) groups[~value].add(i);
    }
  }
}

}  // namespace mt
