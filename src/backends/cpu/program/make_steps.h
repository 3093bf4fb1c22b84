// SPDX-License-Identifier: Apache-2.0
// From a program's instructions to steps: which kernel runs each instruction, what it can read
// where that lies, without a copy, and where it writes.
#pragma once

#include <vector>

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Adds the steps, of a program whose narrow operands and totals are known. `streamed` is the memory
// that is written past the caches. `whole_rows`: it will not be run over some of a row's elements
// alone.
void make_steps(const Program& program, const Segment& segment, std::vector<int16_t> streamed,
                bool whole_rows, PreparedProgram* prepared);

// Whether what is stored is what registers hold.
bool is_native(const Memory& memory);
// Whether each row of `columns` elements is one stretch of memory, or one number repeated.
bool is_regular(const Memory& memory, int64_t columns);

}  // namespace mt::cpu
