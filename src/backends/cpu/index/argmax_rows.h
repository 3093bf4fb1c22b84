// SPDX-License-Identifier: Apache-2.0
// Finds the extremes of columns and the rows they are in, row after row.
#pragma once

#include <cstdint>

#include "ops/elementwise.h"

namespace mt::cpu {

// Over rows [begin, end) of `width` elements, `stride` elements apart: writes each column's extreme
// to `best`, and to `places` the first row that has it, as an integer of the elements' size. If
// `begin` is 0 both start anew; later rows continue them.
using ArgmaxRows = void (*)(const void* rows, int64_t stride, int64_t begin, int64_t end,
                            int64_t width, void* best, void* places);

// A NaN is the extreme. nullptr where there is no kernel.
ArgmaxRows argmax_rows(bool largest, Compute type);

}  // namespace mt::cpu
