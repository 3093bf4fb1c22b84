// SPDX-License-Identifier: Apache-2.0
#include "api/scope.h"

#include <mutex>

#include "api/guard.h"

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

mt_scope* take_orphan() {
  std::lock_guard lock(orphans_mutex());
  return pop(&orphans);
}

mt_scope* take_scope(Thread& thread) {
  if (mt_scope* scope = pop(&thread.spare_scopes)) return scope;
  mt_scope* scope = take_orphan();
  if (!scope) scope = new mt_scope;
  scope->lock.set_owner(&thread);
  return scope;
}

// Ends the innermost scope.
void end_scope(Thread& thread) {
  mt_scope* scope = thread.scope;
  thread.scope = scope->outer;
  mt_tensor* first;
  {
    OwnerLock::Hold hold(scope->lock, &thread);
    first = scope->first;
    scope->first = nullptr;
    for (mt_tensor* handle = first; handle; handle = handle->next) {
      handle->scope.store(nullptr, std::memory_order_relaxed);
    }
  }
  while (first) {
    mt_tensor* next = first->next;
    release(first, thread);
    first = next;
  }
  push(&thread.spare_scopes, scope);
}

}  // namespace

void end_all_scopes() {
  Thread& thread = current_thread();
  while (thread.scope) end_scope(thread);
  std::lock_guard lock(orphans_mutex());
  while (mt_scope* scope = pop(&thread.spare_scopes)) {
    scope->lock.set_owner(nullptr);
    push(&orphans, scope);
  }
}

void watch_thread_end() {
  struct Watch {
    ~Watch() {
      end_all_scopes();
      current_thread().handles.close();
    }
  };
  current_thread().handles.open();
  thread_local Watch watch;
  static_cast<void>(watch);
}

void leave_scope(mt_tensor* handle, Thread& thread) {
  mt_scope* scope = handle->scope.load(std::memory_order_relaxed);
  if (!scope) return;
  OwnerLock::Hold hold(scope->lock, &thread);
  if (handle->scope.load(std::memory_order_relaxed) != scope) return;
  (handle->previous ? handle->previous->next : scope->first) = handle->next;
  if (handle->next) handle->next->previous = handle->previous;
  handle->previous = handle->next = nullptr;
  handle->scope.store(nullptr, std::memory_order_relaxed);
}

}  // namespace mt::api

using namespace mt::api;
using mt::current_thread;
using mt::Thread;

mt_scope* mt_scope_begin(void) {
  return read<mt_scope*>("scope_begin", nullptr, [] {
    Thread& thread = current_thread();
    if (thread.handles.unopened()) watch_thread_end();
    mt_scope* scope = take_scope(thread);
    scope->outer = thread.scope;
    thread.scope = scope;
    return scope;
  });
}

mt_scope* mt_scope_end(mt_scope* scope) {
  if (!scope) return nullptr;
  Thread& thread = current_thread();
  mt_scope* found = thread.scope;
  while (found && found != scope) found = found->outer;
  if (!found) {
    keep_error(MT_EINVAL, "scope_end: the scope is not open on this thread");
    return nullptr;
  }
  mt_scope* outer = scope->outer;  // an ended scope may be in use again at once
  while (thread.scope != outer) end_scope(thread);
  return nullptr;
}

mt_tensor* mt_take(mt_tensor* tensor) {
  return read<mt_tensor*>("take", nullptr, [&] {
    leave_scope(required(tensor, "the tensor"), current_thread());
    return tensor;
  });
}
