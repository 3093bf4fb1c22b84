// SPDX-License-Identifier: Apache-2.0
// Fast kernels for operators that run by themselves. An operator without one runs its naive value.
#pragma once

#include "ops/naive.h"
#include "plan/plan.h"

namespace mt::cpu {

using CallKernel = void (*)(const NaiveCall& call);

// The operator's kernel, or nullptr.
CallKernel find_call_kernel(const Op& op);

}  // namespace mt::cpu
