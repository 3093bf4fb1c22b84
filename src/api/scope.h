// SPDX-License-Identifier: Apache-2.0
// Scopes: the thread's stack of groups of temporary tensors.
#pragma once

#include "api/handle.h"
#include "api/thread_state.h"

namespace mt::api {

// Puts a new handle into the thread's innermost scope, if one is open.
void enter_scope(mt_tensor* handle, ThreadState& thread);
// Takes a handle out of the scope that owns it; whether one did.
bool leave_scope(mt_tensor* handle);

}  // namespace mt::api
