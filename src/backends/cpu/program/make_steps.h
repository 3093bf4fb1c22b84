// SPDX-License-Identifier: Apache-2.0
// Turns a program's instructions into steps: which kernel runs each one, what it can read in place,
// without a copy, and where it writes.
#pragma once

#include <vector>

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Adds the steps to `prepared`, whose narrow operands and totals are already known. `streamed`: the
// memory to write past the caches. `whole_rows`: the program never runs over part of a row.
void make_steps(const Program& program, const Segment& segment, std::vector<int16_t> streamed,
                bool whole_rows, PreparedProgram* prepared);

// Whether memory holds elements exactly as registers do.
bool is_native(const Memory& memory);
// Whether each row of `columns` elements is one stretch of memory, or one number repeated.
bool is_regular(const Memory& memory, int64_t columns);

}  // namespace mt::cpu
