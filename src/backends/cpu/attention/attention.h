// SPDX-License-Identifier: Apache-2.0
// Attention without its weights in memory, and its gradient. The threads share blocks of queries;
// each takes the keys a panel at a time, so that weights live in cache only. Of scores and weights
// queries are the lanes of vectors: largest ones and sums need no work across lanes, keys are read
// by broadcast where they lie, whatever their strides. Results are rows, formed where they will be
// from values (keys, queries) read by vectors where they lie. No sum depends on a vector's length.
#pragma once

#include <cstdint>

#include "ops/naive.h"
#include "plan/plan.h"

namespace mt::cpu {

// Each needs that many bytes of scratch for that many threads.
void attention_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t attention_scratch(const CallGroup& group, int threads);
void attention_gradient_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t attention_gradient_scratch(const CallGroup& group, int threads);

}  // namespace mt::cpu
