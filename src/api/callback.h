// SPDX-License-Identifier: Apache-2.0
// Calling the user's functions of tensors.
#pragma once

#include <vector>

#include "api/arguments.h"
#include "api/handle.h"
#include "mtorch/tape.h"

namespace mt::api {

// One call of a callback: the scope it runs in, with the handles it is given.
class CallbackScope {
 public:
  explicit CallbackScope(const char* name);  // for messages
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;

  std::vector<mt_tensor*> handles(const std::vector<Tensor>& tensors) const;
  // Throws the error that the callback left pending, or that it returned.
  void check(mt_status status) const;

 private:
  const char* name_;
  mt_scope* scope_;
};

// Runs `function` in a scope of its own on handles of `inputs`, and returns the values of its
// results: at most `most`, of which the last may stay unset, but not the first. A callback that
// fails, sets no result or leaves an error pending is thrown as that error, after `name`.
std::vector<Tensor> call_function(const char* name, mt_function function, void* user,
                                  const std::vector<Tensor>& inputs, size_t most);

// What a function gives is all that its caller has of it, so no results are a mistake.
inline void need_results(size_t count) {
  if (count == 0) throw ArgumentError(Code::invalid, "a function without results does nothing");
}

}  // namespace mt::api
