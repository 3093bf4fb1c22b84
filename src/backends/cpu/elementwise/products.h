// SPDX-License-Identifier: Apache-2.0
// Products and what is added to them, or subtracted, as one kernel.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// a * b and c * d, or c * c * d if `squared`, added, or the second subtracted from the first or, if
// `right`, the first from the second. nullptr where there is no kernel.
Operator products_operator(Elementwise last, bool right, bool squared, Compute type);
// a * b * c + d, as normalized rows end, and (a - b) * c + d, as they do by means that are known;
// nullptr where there is no kernel.
Operator scaled_sum_operator(Compute type);
Operator centred_sum_operator(Compute type);

}  // namespace mt::cpu
