// SPDX-License-Identifier: Apache-2.0
// Runs a check under every instruction set that this machine has.
#pragma once

#include "backends/cpu/instruction_set.h"
#include "gtest/gtest.h"

namespace mt::cpu {

template <class F>
void for_each_instruction_set(F check) {
  int count = 0;
  for (const char* name : {"AVX3", "AVX2", "NEON", "EMU128", "SCALAR"}) {
    if (!set_instruction_set(name)) continue;
    EXPECT_STREQ(instruction_set(), name);
    SCOPED_TRACE(name);
    check();
    ++count;
  }
  EXPECT_TRUE(set_instruction_set(nullptr));
  EXPECT_GE(count, 1);
}

}  // namespace mt::cpu
