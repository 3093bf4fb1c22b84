// SPDX-License-Identifier: Apache-2.0
// Reductions too long for a row program: element-wise, then one reduction over long rows or over
// leading dimensions, in the order of ops/order.h.
#pragma once

#include "plan/plan.h"

namespace mt::cpu {

int64_t reduce_scratch(const Group& group);
void run_reduce(const Group& group, void* const* buffers, const Immediates* immediates,
                char* scratch);

}  // namespace mt::cpu
