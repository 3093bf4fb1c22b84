// SPDX-License-Identifier: Apache-2.0
// Lets the previous step do an instruction as well, which then needs no step of its own: it stores,
// converts or reduces what that step makes for nothing else.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/program/compact.h"
#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Makes the last step do instruction `at` as well, if it can; returns whether it does.
bool last_step_does(const std::vector<Instruction>& code, size_t at, const Segment& segment,
                    const CompactValues& compact, PreparedProgram* prepared);

// Whether all instructions after `at` that read the value in register `made` pass the test.
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
// Whether no later instruction reads the first operand of instruction `at`.
inline bool is_last_read(const std::vector<Instruction>& code, size_t at) {
  return all_read(code, at, code[at].in[0], [](const Instruction&) { return false; });
}

}  // namespace mt::cpu
