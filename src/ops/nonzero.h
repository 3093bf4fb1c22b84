// SPDX-License-Identifier: Apache-2.0
// What operators need whose result's shape depends on values: these are computed at the call.
#pragma once

#include <cstdint>

#include "graph/node.h"

namespace mt {

void refuse_trace(const char* name);    // which has no values
int64_t read_integer(const Tensor& x);  // computes; x has one element
// Row-major positions of the elements that are not 0: [count]. Computes now.
Tensor flat_nonzero(const Tensor& x, const char* name);

// How many bytes are not 0.
int64_t count_nonzero_bytes(const uint8_t* bytes, int64_t size);

}  // namespace mt
