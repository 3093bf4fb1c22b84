// SPDX-License-Identifier: Apache-2.0
// How exactly products of matrices are formed. A mode is part of a contraction as it is recorded,
// so every way of running it later, and its gradients, keep the mode it was written in.
#pragma once

#include <cstdint>

#include "graph/node.h"

namespace mt {

enum class Precision : uint8_t {
  strict,    // each product and sum in the type of the result, in the order of ops/order.h
  split,     // float32 as the sum of three bfloat16: errors as large as float32's own
  bfloat16,  // float32 rounded to bfloat16 first; sums in float32
  tf32,      // float32 rounded to 11 significant bits, with all of its exponents; sums in float32
};
constexpr int precision_count = 4;
// Whether operands become bfloat16, in one or three parts (ops/bfloat16_split.h).
constexpr bool is_of_bfloat16(Precision precision) {
  return precision == Precision::split || precision == Precision::bfloat16;
}

// What contractions are recorded in, in the whole process: at first what the environment's
// MT_MATMUL_PRECISION names, else strict.
Precision matmul_precision();
void set_matmul_precision(Precision precision);

// The mode of a recorded contraction.
Precision precision_of(const Op& op, const Attributes& attributes);

}  // namespace mt
