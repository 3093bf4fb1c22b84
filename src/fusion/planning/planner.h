// SPDX-License-Identifier: Apache-2.0
// From a region to a plan: grouping, programs, and where everything lies in memory.
#pragma once

#include "fusion/planning/arrangement.h"
#include "plan/plan.h"

namespace mt {

// Fills in `plan`, which must stay where it is from then on. Returns what it is the plan of.
Arrangement make_plan(const Region& region, Plan* plan);
// What is computed how often and in which groups, and the plan of that, for no backend yet: for
// who only wants to tell it.
Arrangement plan_region(const Region& region, Plan* plan);
// The plan of groups that have been chosen already, for no backend yet.
Plan plan_of(const Region& region, const Grouping& grouping);

}  // namespace mt
