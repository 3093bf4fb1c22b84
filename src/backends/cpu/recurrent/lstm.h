// SPDX-License-Identifier: Apache-2.0
// An LSTM over all positions, and its gradient: one product of small matrices at each position, and
// between these what is computed of its result while that is in the first-level cache. Threads
// share the rows of the batch, which nothing connects.
#pragma once

#include <cstdint>

#include "ops/naive.h"
#include "plan/plan.h"

namespace mt::cpu {

// Each needs that many bytes of scratch for that many threads.
void lstm_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t lstm_scratch(const CallGroup& group, int threads);
void lstm_gradient_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t lstm_gradient_scratch(const CallGroup& group, int threads);

}  // namespace mt::cpu
