// SPDX-License-Identifier: Apache-2.0
// Scopes: the thread's stack of groups of temporary tensors.
#pragma once

#include "api/handle.h"
#include "tensor/thread.h"

namespace mt::api {

// Puts a new handle into the thread's innermost scope, if one is open.
void enter_scope(mt_tensor* handle, Thread& thread);
// Takes a handle out of the scope that owns it; whether one did.
bool leave_scope(mt_tensor* handle, Thread& thread);
// Ends every open scope of the calling thread.
void end_all_scopes();
// Makes sure that what the C boundary keeps for the calling thread is released when it ends.
void watch_thread_end();

}  // namespace mt::api
