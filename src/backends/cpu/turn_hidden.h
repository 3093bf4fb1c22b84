// SPDX-License-Identifier: Apache-2.0
// What one product hands to another, such as a hidden layer, where both compute the transpose of
// their results: it is neither turned back by the first nor turned again by the second.
#pragma once

#include "plan/plan.h"

namespace mt::cpu {

// Changes such products, and what lies between them, to the transposed layout.
void turn_hidden(Plan* plan, int threads);

}  // namespace mt::cpu
