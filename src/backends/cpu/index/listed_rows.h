// SPDX-License-Identifier: Apache-2.0
// Adds rows to the rows of a result that a list names.
#pragma once

#include <cstdint>

#include "plan/program.h"

namespace mt::cpu {

struct ListedRow {
  uint32_t row, from;  // of the sums, of the values
};

// Adds `count` rows of `width` elements in the order of the list. The sums' rows lie next to each
// other, the values' `step` elements apart.
using ListedAddition = void (*)(void* sums, const void* values, int64_t step, int64_t width,
                                const ListedRow* list, int64_t count);
ListedAddition listed_addition(Compute type);

}  // namespace mt::cpu
