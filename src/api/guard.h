// SPDX-License-Identifier: Apache-2.0
// The one guard between C and C++: runs a body, and turns what it throws into the thread's error.
//
//   mt_tensor* mt_add(mt_tensor* a, mt_tensor* b) {
//     return give("add", [&] { return mt::add(operand(a), operand(b)); });     // a new handle
//   }
//   mt_status mt_split(..., mt_tensor** results) {
//     return give_all("split", results, n, [&] { return std::vector<Tensor>{...}; });
//   }
//   mt_status mt_trace_call(..., mt_tensor** results, size_t n) {
//     return change_all("trace_call", results, n, [&] { ... });  // calls back, so changes state
//   }
//   mt_status mt_copy_to_host(...) { return run("copy_to_host", [&] { ... }); }
//   mt_status mt_backward(...) { return change("backward", [&] { ... }); }     // changes state
//   double mt_item(mt_tensor* x) { return read("item", NAN, [&] { return ...; }); }  // all else
//
// The name is what messages begin with. Arguments are read inside the body, by the functions of
// arguments.h, which throw for NULL and for what cannot be; so does every operator of ops.h.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "api/arguments.h"
#include "api/handle.h"
#include "base/error.h"
#include "base/thread.h"

namespace mt::api {

// Keeps the error if it is the thread's first. Returns the code that is pending then.
mt_status keep_error(mt_status code, const char* message) noexcept;
// Keeps the exception being handled as an error. `names_all`: what operators say of arguments
// begins with the function's name and not with theirs.
mt_status keep_exception(const char* name, bool names_all = false) noexcept;

inline bool error_pending() { return current_thread().error != MT_OK; }

// body() -> any value; `failed` on an error.
template <class Result, class Body>
Result read(const char* name, Result failed, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    keep_exception(name);
    return failed;
  }
}

// body() -> Tensor, given out as a new handle. The handle is made first, so that nothing can fail
// once the body has changed something. `names_all` as above: not where the body runs what a user
// knows by other names, as layers do.
template <class Body>
mt_tensor* give(const char* name, Body&& body, bool names_all = true) noexcept {
  mt_tensor* handle = nullptr;
  try {
    handle = new_handle();
    handle->first_value = body();
    return handle;
  } catch (...) {
    keep_exception(name, names_all);
    if (handle) release(handle);
    return nullptr;
  }
}

// body(), which changes nothing that lasts.
template <class Body>
mt_status run(const char* name, Body&& body) noexcept {
  try {
    body();
    return MT_OK;
  } catch (...) {
    return keep_exception(name);
  }
}

// body(), which changes state, and so does not run while an error is pending.
template <class Body>
mt_status change(const char* name, Body&& body) noexcept {
  if (error_pending()) return current_thread().error;
  return run(name, body);
}

// Fills `results`, all NULL, with empty handles; on a failure the caller drops those there are.
void make_handles(mt_tensor** results, size_t count);
void drop_handles(mt_tensor** results, size_t count);

// body() -> std::vector<Tensor> of at most `count` tensors, given out in `results`, of which the
// rest is NULL, and all on an error. They are written last: the array may be one that the body
// reads.
template <class Body>
mt_status give_all(const char* name, mt_tensor** results, size_t count, Body&& body) noexcept {
  std::vector<mt_tensor*> handles;
  try {
    if (!results && count) throw NullArgument{"results"};
    handles.resize(count);
    make_handles(handles.data(), count);
    auto tensors = body();
    for (size_t i = 0; i < count; ++i) {
      if (i < tensors.size() && tensors[i]) {
        handles[i]->first_value = std::move(tensors[i]);
      } else {
        drop_handles(&handles[i], 1);
      }
      results[i] = handles[i];
    }
    return MT_OK;
  } catch (...) {
    mt_status status = keep_exception(name);
    drop_handles(handles.data(), handles.size());
    for (size_t i = 0; results && i < count; ++i) results[i] = nullptr;
    return status;
  }
}

// give_all() for a body that may change state, and so does not run while an error is pending.
template <class Body>
mt_status change_all(const char* name, mt_tensor** results, size_t count, Body&& body) noexcept {
  if (!error_pending()) return give_all(name, results, count, body);
  for (size_t i = 0; results && i < count; ++i) results[i] = nullptr;
  return current_thread().error;
}

// body() -> std::array<Tensor, count>; gives out those that are wanted, whose pointer is not NULL.
template <size_t count, class Body>
mt_status give_wanted(const char* name, const std::array<mt_tensor**, count>& wanted,
                      Body&& body) noexcept {
  std::array<mt_tensor*, count> handles{};
  mt_status status = give_all(name, handles.data(), count, [&] {
    std::array<Tensor, count> tensors = body();
    for (size_t i = 0; i < count; ++i) {
      if (!wanted[i]) tensors[i] = nullptr;
    }
    return tensors;
  });
  for (size_t i = 0; i < count; ++i) {
    if (wanted[i]) *wanted[i] = handles[i];
  }
  return status;
}

}  // namespace mt::api
