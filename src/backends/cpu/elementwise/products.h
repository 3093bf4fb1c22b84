// SPDX-License-Identifier: Apache-2.0
// Products and what is added to them, or subtracted, as one kernel.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// a * b + e, a * b - e or, if `right`, e - a * b, where e is c * d or, if `squared`, c * c * d;
// `last` is add or sub. nullptr where there is no kernel.
Operator products_operator(Elementwise last, bool right, bool squared, Compute type);
// a * b * c + d, the last step of normalizing rows, and (a - b) * c + d, the same with known means;
// nullptr where there is no kernel.
Operator scaled_sum_operator(Compute type);
Operator centred_sum_operator(Compute type);

}  // namespace mt::cpu
