// SPDX-License-Identifier: Apache-2.0
// Packing element by element, from any type and any strides.
#pragma once

#include <cstdint>

#include "backends/cpu/contract/number.h"

namespace mt::cpu {

// Whether the offsets go up by one.
bool neighbours(const int64_t* offsets, int64_t count);

// out[k * width + r] = data[rows[r] + ks[k]], converted.
void gather(Dtype dtype, const void* data, const int64_t* rows, int64_t row_count, int64_t width,
            const int64_t* ks, int64_t k_count, float* out);
void gather(Dtype dtype, const void* data, const int64_t* rows, int64_t row_count, int64_t width,
            const int64_t* ks, int64_t k_count, double* out);

// to[i] = from[i], rounded to `dtype`.
void store_rounded(Dtype dtype, const float* from, int64_t count, void* to);
void store_rounded(Dtype dtype, const double* from, int64_t count, void* to);

}  // namespace mt::cpu
