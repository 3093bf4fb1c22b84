// SPDX-License-Identifier: Apache-2.0
// From a region to a plan: grouping, programs, and where everything lies in memory.
#pragma once

#include "fusion/rematerialize.h"
#include "plan/plan.h"

namespace mt {

// Fills in `plan`, which must stay where it is from then on.
void make_plan(const Region& region, Plan* plan);
// The same for groups that have been chosen already.
void make_plan(const Region& region, const Grouping& grouping, Plan* plan);

// What is computed how often and in which groups, and the plan of that, for no backend yet.
Arrangement arranged(const Region& region, Plan* plan);

// Joins groups that run the same element-wise program over different values, such as the updates
// of many parameters, into one group of several segments.
void merge_alike(Plan* plan);

// Gives the arena's buffers offsets, sharing memory between those that are not alive together.
void place_buffers(Plan* plan);
// Whether the program writes to segment.memory[m].
bool is_stored_to(const Program& program, size_t m);

// The buffers a group reads and writes.
void buffers_read(const Group& group, std::vector<int>* buffers);
void buffers_written(const Group& group, std::vector<int>* buffers);

}  // namespace mt
