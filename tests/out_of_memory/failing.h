// SPDX-License-Identifier: Apache-2.0
// Memory that runs out at a chosen allocation: of C++ objects (operator new, replaced in the
// program that links failing.cpp) or of tensors' elements (the host's allocator).
#pragma once

#include <cstdint>

namespace mt::testing {

enum class Failing {
  object_once,  // one operator new fails on this thread
  objects,      // it and every later one
  elements,     // one block of tensor memory cannot be had
};

// The n-th allocation from now fails, 0 being the next; until stop_failing().
void fail_after(Failing kind, int64_t n);
void stop_failing();
// How many times operator new was called on this thread, and the blocks that all threads hold.
int64_t objects_made();
int64_t objects_alive();

}  // namespace mt::testing
