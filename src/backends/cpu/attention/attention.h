// SPDX-License-Identifier: Apache-2.0
// Attention without storing its weights in memory, and its gradient. Threads divide blocks of
// queries; each block takes the keys a panel at a time, so that weights live in cache only. In
// scores and weights, queries are the lanes of vectors: maxima and sums need no work across lanes,
// and keys are broadcast in place, whatever their strides. Results are rows, formed in place from
// values (keys, queries) that vectors read in place. No sum depends on a vector's length.
#pragma once

#include <cstdint>

#include "ops/naive.h"
#include "plan/plan.h"

namespace mt::cpu {

// Each kernel needs the bytes of scratch that the function after it returns for as many threads.
void attention_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t attention_scratch(const CallGroup& group, int threads);
void attention_gradient_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t attention_gradient_scratch(const CallGroup& group, int threads);

}  // namespace mt::cpu
