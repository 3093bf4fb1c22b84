// SPDX-License-Identifier: Apache-2.0
// The largest elements of two-by-two windows, straight from memory.
#pragma once

#include <cstdint>

#include "tensor/layout.h"

namespace mt::cpu {

// Whether this instruction set has a kernel for them.
bool pools_pairs();

// out[i] is the largest of x[at], x[at + 1], x[at + second] and x[at + second + 1], or NaN if one
// of them is, where at is the place of element first + i of `windows`, whose last dimension has a
// stride of two. Of equal ones it is the one that a reduction across four columns finds.
void pool_pairs(float* out, const float* x, const Layout& windows, int64_t second, int64_t first,
                int64_t count);

}  // namespace mt::cpu
