// SPDX-License-Identifier: Apache-2.0
// What fusion did, for a reader: the groups, the bytes they move against one operator at a time,
// and why each edge that was not fused was refused.
#pragma once

#include <string>

#include "fusion/planning/arrangement.h"

namespace mt {

// Explain the arrangement that runs in place of a region.
std::string explain_region(const Region& region, const Arrangement& arrangement);
std::string explain_region_dot(const Region& region, const Arrangement& arrangement);

// The plan a read of `tensor` would run now. Runs nothing.
std::string explain(const Tensor& tensor);
std::string explain_dot(const Tensor& tensor);

}  // namespace mt
