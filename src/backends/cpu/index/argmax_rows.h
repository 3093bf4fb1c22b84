// SPDX-License-Identifier: Apache-2.0
// Extremes of columns and where they are, row after row.
#pragma once

#include <cstdint>

#include "ops/elementwise.h"

namespace mt::cpu {

// Of rows [begin, end), `stride` elements apart, of `width` elements each: `best` takes each
// column's extreme, of the elements' type, and `places` the first row it is in, an integer of the
// same size. Rows from 0 on begin both, later ones go on with them.
using ArgmaxRows = void (*)(const void* rows, int64_t stride, int64_t begin, int64_t end,
                            int64_t width, void* best, void* places);

// A NaN is the extreme. nullptr where there is no kernel.
ArgmaxRows argmax_rows(bool largest, Compute type);

}  // namespace mt::cpu
