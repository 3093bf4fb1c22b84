// SPDX-License-Identifier: Apache-2.0
#include "fusion/grouping/grouping_state.h"

#include "backends/backend.h"
#include "fusion/grouping/relation.h"

namespace mt {

GroupingState::GroupingState(const Region& given)
    : region(given), readers(given), panels_for_totals(given.device->backend->panels_for_totals()) {
  size_t items = region.items.size();
  grouping.group_of.assign(items, -1);
  grouping.row_valued.assign(items, false);
  grouping.total.assign(items, false);
  grouping.refusal.assign(items, nullptr);
  place.assign(items, 0);
  visited.assign(items, 0);
  finishes_rows = finished_rows(*this);
}

bool GroupingState::has_room_for(int64_t rows, int64_t columns) const {
  return columns <= region.device->backend->longest_row(rows);
}

}  // namespace mt
