// SPDX-License-Identifier: Apache-2.0
// In a large plan, values that wait in memory while most of it is taken, such as activations for
// their layer's gradient, are computed again for who reads them afterwards, where what they are
// made of waits anyway.
#pragma once

#include <optional>

#include "fusion/planning/arrangement.h"
#include "plan/plan.h"

namespace mt {

// `plan` is that of the groups. nullopt if it is not large or nothing can be made anew.
std::optional<Arrangement> made_anew(const Region& region, const Grouping& grouping,
                                     const Plan& plan);

}  // namespace mt
