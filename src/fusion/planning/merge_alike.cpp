// SPDX-License-Identifier: Apache-2.0
// Fusion across the graph: many small groups with one program become one group.
#include "fusion/planning/merge_alike.h"

#include <algorithm>

namespace mt {
namespace {

bool alike(const MapGroup& a, const MapGroup& b) {
  if (a.program.instructions != b.program.instructions || a.program.once != b.program.once) {
    return false;
  }
  const Segment &x = a.segments[0], &y = b.segments[0];
  if (x.memory.size() != y.memory.size() || x.constants.size() != y.constants.size()) return false;
  for (size_t m = 0; m < x.memory.size(); ++m) {
    if (x.memory[m].dtype != y.memory[m].dtype || x.memory[m].row != y.memory[m].row ||
        x.memory[m].contiguous != y.memory[m].contiguous ||
        x.memory[m].is_padded() != y.memory[m].is_padded()) {
      return false;
    }
  }
  return true;
}

bool intersects(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](int value) { return std::find(b.begin(), b.end(), value) != b.end(); });
}

}  // namespace

void merge_alike(Plan* plan) {
  std::vector<Group>& groups = plan->groups;
  // Outputs that take over a leaf's memory overwrite it; the leaves are the first buffers.
  std::vector<std::vector<int>> reads(groups.size()), writes(groups.size()), spoils(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    buffers_read(groups[g], &reads[g]);
    buffers_written(groups[g], &writes[g]);
    for (int buffer : writes[g]) {
      int donor = plan->buffers[buffer].donor;
      if (donor >= 0) spoils[g].push_back(donor);
    }
  }
  std::vector<bool> gone(groups.size(), false);
  for (size_t g = 0; g < groups.size(); ++g) {
    auto* earlier = std::get_if<MapGroup>(&groups[g].work);
    if (!earlier || gone[g]) continue;
    // Merge into the next group alike, unless a group up to there reads what this one writes
    // or overwrites what it reads.
    for (size_t later = g + 1; later < groups.size(); ++later) {
      if (intersects(reads[later], writes[g]) || intersects(writes[later], reads[g]) ||
          intersects(spoils[later], reads[g])) {
        break;
      }
      auto* target = std::get_if<MapGroup>(&groups[later].work);
      if (!target || !alike(*earlier, *target)) continue;
      target->segments.insert(target->segments.begin(),
                              std::make_move_iterator(earlier->segments.begin()),
                              std::make_move_iterator(earlier->segments.end()));
      groups[later].items.insert(groups[later].items.begin(), groups[g].items.begin(),
                                 groups[g].items.end());
      reads[later].insert(reads[later].end(), reads[g].begin(), reads[g].end());
      writes[later].insert(writes[later].end(), writes[g].begin(), writes[g].end());
      spoils[later].insert(spoils[later].end(), spoils[g].begin(), spoils[g].end());
      gone[g] = true;
      break;
    }
  }
  std::vector<Group> kept;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!gone[g]) kept.push_back(std::move(groups[g]));
  }
  groups = std::move(kept);
}

}  // namespace mt
