// SPDX-License-Identifier: Apache-2.0
// The primitive reductions.
#pragma once

#include <cstdint>

namespace mt {

// max and min propagate NaN. Over nothing: 0, 1, the lowest value, the highest value.
enum class Reduction : uint8_t { sum, prod, max, min };

}  // namespace mt
