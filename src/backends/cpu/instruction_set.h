// SPDX-License-Identifier: Apache-2.0
// The instruction set that kernels run on: the best that the machine has, unless MT_CPU_TARGET
// names another. The backend chooses it when it is made, before any kernel runs.
#pragma once

namespace mt::cpu {

// Takes effect once; later calls change nothing.
void choose_instruction_set();

// The one in use: "AVX3", "AVX2", ...
const char* instruction_set();
// Disables better instruction sets than `name`, for tests that compare bits. nullptr: the best one;
// returns false if `name` is not available.
bool set_instruction_set(const char* name);

}  // namespace mt::cpu
