// SPDX-License-Identifier: Apache-2.0
// Fast kernels for operators that run by themselves. An operator without one runs its naive value.
#pragma once

#include "ops/naive.h"
#include "plan/plan.h"

namespace mt::cpu {

// At most one of `run` and `run_within` is set.
struct CallKernel {
  void (*run)(const NaiveCall& call) = nullptr;
  // A kernel that needs working memory: scratch(group, threads) bytes of it, 64-byte aligned.
  void (*run_within)(const NaiveCall& call, void* scratch, int threads) = nullptr;
  int64_t (*scratch)(const CallGroup& group, int threads) = nullptr;
};

CallKernel find_call_kernel(const Op& op);

}  // namespace mt::cpu
