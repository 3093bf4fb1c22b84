// SPDX-License-Identifier: Apache-2.0
// Kernels for integers, whose sums wrap.
#pragma once

#include <cstdint>

#include "backends/cpu/contract/micro_tile.h"

namespace mt::cpu {

// What strided_kernels() returns for int32 and int64. pack: of the floating type of the same size.
StridedKernels integer_kernels(Dtype sum, StridedKernels::Pack pack);

// sums[i] += sum of x[i, k] y[k] over k terms, for rows along k that begin `row` elements apart.
void add_dots(const uint32_t* x, int64_t row, int64_t rows, const uint32_t* y, int64_t k,
              uint32_t* sums);
void add_dots(const uint64_t* x, int64_t row, int64_t rows, const uint64_t* y, int64_t k,
              uint64_t* sums);

// 64 products of small numbers, whose magnitude is at most 2^22, sum to less than 2^51. Doubles
// hold such sums exactly, and their bits tell the integer. Counts here are of whole vectors.
constexpr int64_t most_small_terms = 64;
bool are_small(const uint64_t* numbers, int64_t count);
void to_doubles(const uint64_t* numbers, int64_t count, double* out);
void add_doubles(const double* numbers, int64_t count, uint64_t* sums);

}  // namespace mt::cpu
