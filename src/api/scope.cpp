// SPDX-License-Identifier: Apache-2.0
#include "api/scope.h"

#include <mutex>
#include <new>

#include "api/guard.h"
#include "tensor/spin_lock.h"

// Handles may leave from any thread, so each scope has a lock. Scopes are kept and used again,
// never freed: a thread that waits for the lock of a scope that has just ended finds it there.
struct mt_scope {
  mt::SpinLock lock;
  mt_scope* outer = nullptr;  // also chains unused scopes
  mt_tensor* first = nullptr;
};

namespace mt::api {
namespace {

// Unused scopes: of this thread, and of threads that have ended.
std::mutex& orphans_mutex() {
  static auto* mutex = new std::mutex;  // outlives every thread
  return *mutex;
}
mt_scope* orphans = nullptr;

mt_scope* pop(mt_scope** list) {
  mt_scope* scope = *list;
  if (scope) *list = scope->outer;
  return scope;
}

void push(mt_scope** list, mt_scope* scope) {
  scope->outer = *list;
  *list = scope;
}

mt_scope* take_scope() {
  if (mt_scope* scope = pop(&thread_state.spare_scopes)) return scope;
  {
    std::lock_guard lock(orphans_mutex());
    if (mt_scope* scope = pop(&orphans)) return scope;
  }
  return new mt_scope;
}

// Ends the innermost scope.
void end_scope() {
  mt_scope* scope = thread_state.scope;
  thread_state.scope = scope->outer;
  mt_tensor* first;
  {
    std::lock_guard lock(scope->lock);
    first = scope->first;
    scope->first = nullptr;
    for (mt_tensor* handle = first; handle; handle = handle->next) {
      handle->scope.store(nullptr, std::memory_order_relaxed);
    }
  }
  while (first) {
    mt_tensor* next = first->next;
    release(first);
    first = next;
  }
  push(&thread_state.spare_scopes, scope);
}

}  // namespace

void end_all_scopes() {
  while (thread_state.scope) end_scope();
  std::lock_guard lock(orphans_mutex());
  while (mt_scope* scope = pop(&thread_state.spare_scopes)) push(&orphans, scope);
}

void watch_thread_end() {
  struct Watch {
    ~Watch() {
      end_all_scopes();
      thread_state.ended = true;
      free_spare_handles();
    }
  };
  thread_state.watched = true;
  thread_local Watch watch;
  static_cast<void>(watch);
}

void enter_scope(mt_tensor* handle) {
  mt_scope* scope = thread_state.scope;
  if (!scope) return;
  std::lock_guard lock(scope->lock);
  handle->scope.store(scope, std::memory_order_relaxed);
  handle->next = scope->first;
  if (scope->first) scope->first->previous = handle;
  scope->first = handle;
}

bool leave_scope(mt_tensor* handle) {
  mt_scope* scope = handle->scope.load(std::memory_order_relaxed);
  if (!scope) return false;
  std::lock_guard lock(scope->lock);
  if (handle->scope.load(std::memory_order_relaxed) != scope) return false;
  (handle->previous ? handle->previous->next : scope->first) = handle->next;
  if (handle->next) handle->next->previous = handle->previous;
  handle->previous = handle->next = nullptr;
  handle->scope.store(nullptr, std::memory_order_relaxed);
  return true;
}

}  // namespace mt::api

using namespace mt::api;

mt_scope* mt_scope_begin(void) {
  return read<mt_scope*>("scope_begin", nullptr, [] {
    if (!thread_state.watched) watch_thread_end();
    mt_scope* scope = take_scope();
    scope->outer = thread_state.scope;
    thread_state.scope = scope;
    return scope;
  });
}

mt_scope* mt_scope_end(mt_scope* scope) {
  if (!scope) return nullptr;
  mt_scope* found = thread_state.scope;
  while (found && found != scope) found = found->outer;
  if (!found) {
    keep_error(MT_EINVAL, "scope_end: the scope is not open on this thread");
    return nullptr;
  }
  mt_scope* outer = scope->outer;  // an ended scope may be in use again at once
  while (thread_state.scope != outer) end_scope();
  return nullptr;
}

mt_tensor* mt_take(mt_tensor* tensor) {
  return read<mt_tensor*>("take", nullptr, [&] {
    leave_scope(required(tensor, "the tensor"));
    return tensor;
  });
}
