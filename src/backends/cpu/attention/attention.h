// SPDX-License-Identifier: Apache-2.0
// Attention without its weights in memory, and its gradient. The threads share blocks of queries;
// each takes the keys a panel at a time, so that weights live in cache only. Queries are the lanes
// of all vectors: largest scores and sums need no work across lanes, keys and values are read by
// broadcast where they lie, whatever their strides, and no sum depends on a vector's length.
#pragma once

#include <cstdint>

#include "ops/naive.h"
#include "plan/plan.h"

namespace mt::cpu {

// Each needs that many bytes of scratch for that many threads.
void attention_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t attention_scratch(const Group& group, int threads);
void attention_gradient_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t attention_gradient_scratch(const Group& group, int threads);

}  // namespace mt::cpu
