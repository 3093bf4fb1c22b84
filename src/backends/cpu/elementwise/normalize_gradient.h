// SPDX-License-Identifier: Apache-2.0
// What a layer norm's gradient goes over rows for, as two kernels.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// What the first reads, and the totals that it adds to.
namespace norm_products {
enum Operand : int { dy, deviations, weight, scale, weight_total, bias_total, count };
}
// What the second reads, and, last, the sum that it writes beside its result.
namespace norm_slopes {
enum Operand : int { dy, deviations, weight, scale, factor, number, sum, count };
}

// Of each row, where scale, factor and number are numbers:
// bias_total += dy
// weight_total += deviations * scale * dy
// out = sum(dy * weight * deviations)
// nullptr where there is no kernel.
Operator norm_products_operator(Compute type);
// out = factor * deviations * number + dy * weight * scale
// sum = sum(out)
Operator norm_slopes_operator(Compute type);

}  // namespace mt::cpu
