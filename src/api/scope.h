// SPDX-License-Identifier: Apache-2.0
// Scopes: the thread's stack of groups of temporary tensors.
#pragma once

#include "api/handle.h"
#include "base/owner_lock.h"
#include "base/thread.h"

// Handles may leave from any thread, so each scope has a lock. Scopes are kept and used again,
// never freed: a thread that waits for the lock of a scope that has just ended finds it there.
struct mt_scope {
  mt::OwnerLock lock;
  mt_scope* outer = nullptr;  // also chains unused scopes
  mt_tensor* first = nullptr;
};

namespace mt::api {

// Puts a new handle into the thread's innermost scope, if one is open.
inline void enter_scope(mt_tensor* handle, Thread& thread) {
  mt_scope* scope = thread.scope;
  if (!scope) return;
  OwnerLock::Hold hold(scope->lock, &thread);
  handle->scope.store(scope, std::memory_order_relaxed);
  handle->next = scope->first;
  if (scope->first) scope->first->previous = handle;
  scope->first = handle;
}
// Takes a handle out of the scope that owns it, if one does.
void leave_scope(mt_tensor* handle, Thread& thread);
// Ends every open scope of the calling thread.
void end_all_scopes();
// Makes sure that what the C boundary keeps for the calling thread is released when it ends.
void watch_thread_end();

}  // namespace mt::api
