// SPDX-License-Identifier: Apache-2.0
// The element-wise table evaluated with the C++ standard library: independent of the fast kernels.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace mt {

// `dtype` is the type of the result.
double naive_elementwise(uint8_t code, double a, double b, Dtype dtype);
bool naive_comparison(uint8_t code, double a, double b);
// Integers of `dtype`, held in an int64; the caller wraps the result.
int64_t naive_elementwise(uint8_t code, int64_t a, int64_t b, Dtype dtype);

}  // namespace mt
