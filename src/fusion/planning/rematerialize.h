// SPDX-License-Identifier: Apache-2.0
// Rematerialization: in a large plan, values that wait in memory while most of it is taken, such as
// activations for their layer's gradient, are dropped and computed again before they are read,
// where what they are made of is in memory anyway.
#pragma once

#include <optional>

#include "fusion/planning/arrangement.h"
#include "plan/plan.h"

namespace mt {

// `plan` is that of the groups. nullopt if it is not large or nothing can be computed again.
std::optional<Arrangement> rematerialized(const Region& region, const Grouping& grouping,
                                          const Plan& plan);

}  // namespace mt
