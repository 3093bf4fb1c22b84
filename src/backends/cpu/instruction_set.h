// SPDX-License-Identifier: Apache-2.0
// The instruction set that kernels run on: the best that the machine has, unless MT_CPU_TARGET
// names another. The backend chooses it when it is made, before any kernel runs.
#pragma once

namespace mt::cpu {

// Once; whoever comes later changes nothing.
void choose_instruction_set();

// The one in use: "AVX3", "AVX2", ...
const char* instruction_set();
// Forbids the better ones, for tests that compare bits. nullptr: the best; false when not
// available.
bool set_instruction_set(const char* name);

}  // namespace mt::cpu
