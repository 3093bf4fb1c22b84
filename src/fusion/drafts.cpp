// SPDX-License-Identifier: Apache-2.0
#include "fusion/drafts.h"

namespace mt {

Drafts::Drafts(const Region& given) : region(given) {
  size_t items = region.items.size();
  grouping.group_of.assign(items, -1);
  grouping.row_valued.assign(items, false);
  grouping.refusal.assign(items, nullptr);
  first_use_.assign(items + 1, 0);
  for (const Edge& edge : region.edges) {
    if (edge.value >= 0) ++first_use_[static_cast<size_t>(edge.value) + 1];
  }
  for (size_t i = 0; i < items; ++i) first_use_[i + 1] += first_use_[i];
  uses_.resize(first_use_[items]);
  std::vector<size_t> next = first_use_;
  for (int i = 0; i < count(); ++i) {
    for (int e = 0; e < item(i).edge_count; ++e) {
      const Edge& edge = edges(i)[e];
      if (edge.value >= 0) uses_[next[static_cast<size_t>(edge.value)]++] = {i, &edge};
    }
  }
}

}  // namespace mt
