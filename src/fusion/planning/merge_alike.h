// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan.h"

namespace mt {

// Joins groups that run the same element-wise program over different values, such as the updates
// of many parameters, into one group of several segments.
void merge_alike(Plan* plan);

}  // namespace mt
