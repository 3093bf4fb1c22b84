// SPDX-License-Identifier: Apache-2.0
// The passes over rows in a layer norm's gradient, as two kernels.
#pragma once

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

// The operands that both kernels read, which come first.
namespace norm_operands {
enum Operand : int { dy, deviations, weight, scale, count };
}
// The totals that the first kernel adds to.
namespace norm_products {
enum Operand : int { weight_total = norm_operands::count, bias_total, count };
}
// What else the second kernel reads, and the sum that it writes besides its result.
namespace norm_slopes {
enum Operand : int { factor = norm_operands::count, number, sum, count };
}

// For each row, where scale, factor and number are single numbers:
// bias_total += dy
// weight_total += deviations * scale * dy
// out = sum(dy * weight * deviations)
// nullptr where there is no kernel.
Operator norm_products_operator(Compute type);
// out = factor * deviations * number + dy * weight * scale
// sum = sum(out)
Operator norm_slopes_operator(Compute type);

}  // namespace mt::cpu
