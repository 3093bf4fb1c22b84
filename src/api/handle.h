// SPDX-License-Identifier: Apache-2.0
// What an mt_tensor is: a counted handle on a value, which it can be bound to anew.
#pragma once

#include <atomic>
#include <utility>

#include "graph/node.h"
#include "graph/variable.h"
#include "mtorch/tensor.h"

namespace mt::api {
struct Maps;  // reading.h: what mt_map() has pinned
}

struct alignas(64) mt_tensor {  // one cache line
  std::atomic<int32_t> owners{1};
  bool rewritten = false;  // over memory that its owner keeps writing: see mt_wrap_mutable()
  // The scope that owns it, if one does, and its neighbours there; guarded by the scope's lock.
  std::atomic<mt_scope*> scope{nullptr};
  mt_tensor* previous = nullptr;
  mt_tensor* next = nullptr;

  // Its value: in a cell of its own once it has been bound anew or requires a gradient, because it
  // is lasting state then.
  mt::Tensor first_value;
  mt::Ref<mt::StateCell> cell;
  // Where its gradient is collected, once it is or was a leaf that requires one.
  mt::Ref<mt::Variable> variable;
  mt::api::Maps* maps = nullptr;

  // Its value, as a program reads it, and as one looks at what it is without reading it.
  mt::Tensor get() const { return cell ? cell->get() : first_value; }
  mt::Tensor peek() const { return cell ? cell->peek() : first_value; }
};

namespace mt::api {

// A new handle, yet without a value, owned by the thread's innermost scope, or by the caller when
// there is none.
mt_tensor* new_handle();
inline mt_tensor* new_handle(Tensor value) {
  mt_tensor* handle = new_handle();
  handle->first_value = std::move(value);
  return handle;
}
void retain(mt_tensor* handle);
void release(mt_tensor* handle, Thread& thread = current_thread());

// Gives a handle a place of its own, so that binding it anew takes no memory.
void make_state(mt_tensor* handle);
// Binds a handle to another value, and makes it lasting state. A leaf that requires a gradient
// stays one, and takes only a value without history. `name` is what an error begins with.
void rebind(mt_tensor* handle, Tensor value, const char* name = "assign");
// Makes a handle on a value without history a leaf that requires a gradient, or no longer one.
void set_requires_gradient(mt_tensor* handle, bool require);

inline bool is_leaf_variable(const mt_tensor* handle) {
  return handle->variable && handle->peek().requires_gradient();
}
inline bool has_history(const Tensor& value) {
  return value.requires_gradient() && !value->variable;
}

// An owner for code that keeps a handle.
class HeldHandle {
 public:
  HeldHandle() = default;
  explicit HeldHandle(mt_tensor* handle) : handle_(handle) {
    if (handle_) retain(handle_);
  }
  HeldHandle(const HeldHandle& other) : HeldHandle(other.handle_) {}
  HeldHandle(HeldHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~HeldHandle() {
    if (handle_) release(handle_);
  }
  HeldHandle& operator=(HeldHandle other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  mt_tensor* get() const { return handle_; }
  mt_tensor* operator->() const { return handle_; }

 private:
  mt_tensor* handle_ = nullptr;
};

}  // namespace mt::api
