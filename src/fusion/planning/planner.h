// SPDX-License-Identifier: Apache-2.0
// From a region to a plan: grouping, programs, and where everything lies in memory.
#pragma once

#include "fusion/planning/arrangement.h"
#include "plan/plan.h"

namespace mt {

// Makes and prepares `plan`, which must not move afterwards. Returns the arrangement that it runs.
Arrangement make_plan(const Region& region, Plan* plan);
// Chooses groups and recomputation and makes the plan, without preparing it for a backend;
// explain() uses it.
Arrangement plan_region(const Region& region, Plan* plan);
// The plan for a given grouping, not prepared for a backend either.
Plan plan_of(const Region& region, const Grouping& grouping);

}  // namespace mt
