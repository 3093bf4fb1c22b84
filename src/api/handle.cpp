// SPDX-License-Identifier: Apache-2.0
#include "api/handle.h"

#include <new>

#include "api/guard.h"
#include "api/reading.h"
#include "api/scope.h"
#include "fusion/evaluator.h"
#include "ops/ops.h"

namespace mt::api {

namespace {

// Every way into the library passes this file, so the evaluator is there before the first call.
[[maybe_unused]] const bool evaluator_installed = [] {
  install_fusing_evaluator();
  return true;
}();

void bind(mt_tensor* handle, Tensor value) {
  make_state(handle);
  handle->cell->set(std::move(value));
}

// A value that only its handle refers to may become a leaf as it is; another gets an alias, so that
// nobody else's tensor changes.
Tensor own_node(const Node* held, Tensor value) {
  int32_t ours = held == value.node() ? 2 : 1;
  bool shared = value->references() > ours || value.requires_gradient() || value->variable;
  if (shared) return detach(value);
  return value;
}

// `held`: what the handle is bound to.
Tensor as_leaf(const mt_tensor* handle, const Node* held, Tensor value) {
  Tensor leaf = own_node(held, std::move(value));
  leaf->variable = handle->variable;
  leaf->requires_gradient = true;
  return leaf;
}

}  // namespace

mt_tensor* new_handle() {
  Thread& thread = current_thread();
  if (thread.handles.unopened()) watch_thread_end();
  auto* handle = new (thread.handles.take()) mt_tensor;
  enter_scope(handle, thread);
  return handle;
}

void retain(mt_tensor* handle) { handle->owners.fetch_add(1, std::memory_order_relaxed); }

namespace {

// What few handles have.
[[gnu::noinline, gnu::cold]] void drop_state(mt_tensor* handle) {
  if (handle->maps) forget_maps(handle);
  if (handle->variable) handle->variable->abandon();
  handle->variable = nullptr;
  handle->cell = nullptr;
}

}  // namespace

void release(mt_tensor* handle, Thread& thread) {
  if (!drop_reference(handle->owners)) return;
  if (handle->scope.load(std::memory_order_relaxed)) leave_scope(handle, thread);
  if (handle->cell || handle->variable || handle->maps) [[unlikely]]
    drop_state(handle);
  Node* value = handle->first_value.disown();
  thread.handles.keep(handle);  // nothing is left in it to be destroyed
  if (value) value->release(thread);
}

void make_handles(mt_tensor** results, size_t count) {
  for (size_t i = 0; i < count; ++i) results[i] = new_handle();
}

void drop_handles(mt_tensor** results, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (results[i]) release(std::exchange(results[i], nullptr));
  }
}

void make_state(mt_tensor* handle) {
  if (handle->cell) return;
  Ref<StateCell> cell(new StateCell);
  if (handle->first_value && handle->first_value->ready()) {
    note_state(handle->first_value);
    if (TraceLog* log = TraceLog::current()) log->late_state = true;
  }
  cell->replace(std::move(handle->first_value));
  handle->first_value = nullptr;
  handle->cell = std::move(cell);
}

namespace {

// What a handle is bound to, if that is a leaf that requires a gradient; only to compare with.
const Node* leaf_of(const mt_tensor* handle) {
  if (!handle->variable) return nullptr;
  const Tensor value = handle->peek();
  return value.requires_gradient() ? value.node() : nullptr;
}

}  // namespace

void rebind(mt_tensor* handle, Tensor value, const char* name) {
  if (const Node* leaf = leaf_of(handle)) {
    if (has_history(value)) {
      fail(Code::invalid,
           "%s: a leaf that requires a gradient takes only a value without history; compute it "
           "with no_grad, or detach it",
           name);
    }
    value = as_leaf(handle, leaf, std::move(value));
  }
  bind(handle, std::move(value));
  handle->rewritten = false;
}

void set_requires_gradient(mt_tensor* handle, bool require) {
  Tensor value = handle->get();
  if (has_history(value)) {
    fail(Code::invalid, "require_grad: the tensor has a history (it came from %s); detach it first",
         value->op->name);
  }
  if (require == is_leaf_variable(handle)) return;
  if (!require) return bind(handle, detach(value));
  if (value->is_plain_number) value = tensor_of_number(value);
  if (!is_floating(value.dtype())) {
    fail(Code::dtype, "require_grad: needs a float, got %s", name_of(value.dtype()));
  }
  if (!handle->variable) handle->variable = Ref<Variable>(new Variable);
  make_state(handle);  // what can fail comes before the value becomes a leaf
  bind(handle, as_leaf(handle, handle->peek().node(), std::move(value)));
}

}  // namespace mt::api

using namespace mt::api;
using mt::current_thread;

mt_tensor* mt_retain(mt_tensor* tensor) {
  return read<mt_tensor*>("retain", nullptr, [&] {
    retain(required(tensor, "the tensor"));
    return tensor;
  });
}

void mt_release(mt_tensor* tensor) {
  if (tensor) release(tensor, current_thread());
}
