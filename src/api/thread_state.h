// SPDX-License-Identifier: Apache-2.0
// What the C boundary keeps for each thread.
#pragma once

#include "mtorch/tensor.h"
#include "tensor/spare_memory.h"

namespace mt::api {

struct ThreadState {
  mt_status error = MT_OK;
  mt_scope* scope = nullptr;         // the innermost
  mt_scope* spare_scopes = nullptr;  // chained by `outer`
  // A handle lives about as long as the call that follows, so its memory is kept for the next.
  SpareMemory<mt_tensor, 1024> handles;
};

// The calling thread's.
inline ThreadState& thread_state() {
  static constinit thread_local ThreadState instance;  // trivially built: no check
  ThreadState* state = &instance;
  __asm__("" : "+r"(state));  // or the compiler looks it up again rather than keep it
  return *state;
}

// Makes sure that what the state holds is released when the thread ends.
void watch_thread_end();
// Ends every open scope of this thread (scope.cpp).
void end_all_scopes();

}  // namespace mt::api
