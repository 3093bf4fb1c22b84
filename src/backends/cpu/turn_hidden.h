// SPDX-License-Identifier: Apache-2.0
// Keeps transposed what one product passes to another, such as a hidden layer, where both compute
// the transpose of their results: neither the first nor the second then transposes it.
#pragma once

#include "plan/plan.h"

namespace mt::cpu {

// Changes such products, and the value between them, to the transposed layout.
void turn_hidden(Plan* plan, int threads);

}  // namespace mt::cpu
