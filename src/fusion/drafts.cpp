// SPDX-License-Identifier: Apache-2.0
#include "fusion/drafts.h"

namespace mt {

Drafts::Drafts(const Region& given) : region(given), readers(given) {
  size_t items = region.items.size();
  grouping.group_of.assign(items, -1);
  grouping.row_valued.assign(items, false);
  grouping.refusal.assign(items, nullptr);
}

}  // namespace mt
