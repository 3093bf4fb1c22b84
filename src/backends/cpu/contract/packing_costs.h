// SPDX-License-Identifier: Apache-2.0
// What it takes to bring a number to where kernels read it, in products that take as long, as
// measured.
#pragma once

#include <cstdint>

namespace mt::cpu {

constexpr int64_t vector_floats = 16;  // in the longest vectors
// Of an operand that lies along k and is turned; of one that comes from memory.
constexpr int64_t turning = 14, turning_distant = 24;
// Of one that no vector can read otherwise.
constexpr int64_t packing = 8;
// Of a tile of a's rows that lie apart, for each tile again; and of b's that are neighbours.
constexpr int64_t packing_rows = 24, packing_lines = 2;

}  // namespace mt::cpu
