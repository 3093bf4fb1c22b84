// SPDX-License-Identifier: Apache-2.0
// Two products and their sum or difference as one kernel.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// a * b and c * d, or c * c * d if `squared`, added, or the second subtracted from the first or, if
// `right`, the first from the second. nullptr where there is no kernel.
Operator products_operator(Elementwise last, bool right, bool squared, Compute type);

}  // namespace mt::cpu
