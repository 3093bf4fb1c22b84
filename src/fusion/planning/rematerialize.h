// SPDX-License-Identifier: Apache-2.0
// Rematerialization: in a large plan, values that wait in memory while most of it is taken, such as
// activations for their layer's gradient, are dropped and recomputed before they are read, if their
// operands are in memory anyway.
#pragma once

#include <optional>

#include "fusion/planning/arrangement.h"
#include "plan/plan.h"

namespace mt {

// `plan` is the plan of `grouping`. nullopt if it is not large or nothing can be recomputed.
std::optional<Arrangement> rematerialized(const Region& region, const Grouping& grouping,
                                          const Plan& plan);

}  // namespace mt
