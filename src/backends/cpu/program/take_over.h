// SPDX-License-Identifier: Apache-2.0
// What the step before an instruction can do as well, so that it needs none of its own: storing,
// converting or reducing what that step makes for nobody else.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/program/compact.h"
#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Makes the last step do instruction `at`, too, if it can.
bool last_step_does(const std::vector<Instruction>& code, size_t at, const Segment& segment,
                    const CompactValues& compact, PreparedProgram* prepared);

// Whether all instructions after `at` that read what has been left in register `made` are such.
template <class Test>
bool all_read(const std::vector<Instruction>& code, size_t at, int16_t made, Test&& test) {
  for (size_t later = at + 1; later < code.size(); ++later) {
    const Instruction& i = code[later];
    const bool reads = std::find(i.in, i.in + 3, made) != i.in + 3;
    if (reads && !test(i)) return false;
    if (i.out == made) break;
  }
  return true;
}
// Whether nobody reads the first operand of instruction `at` thereafter.
inline bool is_last_read(const std::vector<Instruction>& code, size_t at) {
  return all_read(code, at, code[at].in[0], [](const Instruction&) { return false; });
}

}  // namespace mt::cpu
