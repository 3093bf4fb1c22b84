// SPDX-License-Identifier: Apache-2.0
// What the C boundary keeps for each thread.
#pragma once

#include "mtorch/tensor.h"

namespace mt::api {

struct ThreadState {
  mt_status error = MT_OK;
  mt_scope* scope = nullptr;          // the innermost
  mt_scope* spare_scopes = nullptr;   // chained by `outer`
  mt_tensor* free_handles = nullptr;  // chained by `next`
  int free_count = 0;
  bool watched = false;  // its end has been arranged for
  bool ended = false;
};

// Trivially built and destroyed, so that reaching it costs no check.
extern constinit thread_local ThreadState thread_state;

// Makes sure that what the state holds is released when the thread ends.
void watch_thread_end();
// Ends every open scope of this thread (scope.cpp).
void end_all_scopes();
// Gives the memory of unused handles back (handle.cpp).
void free_spare_handles();

}  // namespace mt::api
