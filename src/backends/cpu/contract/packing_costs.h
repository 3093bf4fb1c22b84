// SPDX-License-Identifier: Apache-2.0
// The measured cost of bringing one number to where kernels read it, as the number of products
// (multiply-adds) that take as long.
#pragma once

#include <cstdint>

namespace mt::cpu {

constexpr int64_t vector_floats = 16;  // in the longest vectors
// Of an operand that lies along k and is transposed; of one that comes from memory.
constexpr int64_t turning = 14, turning_distant = 24;
// Of an operand that vectors can read only if it is packed.
constexpr int64_t packing = 8;
// Of a's rows if their terms lie apart, for each tile again; and of b's if they are neighbours.
constexpr int64_t packing_rows = 24, packing_lines = 2;

}  // namespace mt::cpu
