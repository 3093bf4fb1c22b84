// SPDX-License-Identifier: Apache-2.0
#include "api/callback.h"

#include <string>

#include "api/guard.h"
#include "mtorch/error.h"

namespace mt::api {
namespace {

// Ends the scope however the call ends.
struct Scope {
  mt_scope* scope = mt_scope_begin();
  Scope() {
    if (!scope) throw std::bad_alloc();
  }
  ~Scope() { mt_scope_end(scope); }
  Scope(const Scope&) = delete;
};

}  // namespace

std::vector<Tensor> call_function(const char* name, mt_function function, void* user,
                                  const std::vector<Tensor>& inputs, size_t count) {
  if (error_pending()) fail(Code::user, "%s: an error is pending", name);
  Scope scope;
  std::vector<mt_tensor*> arguments, results(count, nullptr);
  for (const Tensor& input : inputs) arguments.push_back(new_handle(input));
  mt_status status =
      function(user, arguments.data(), arguments.size(), results.data(), results.size());
  if (error_pending()) {
    // What the callback's own calls latched says more than its status.
    Code code = static_cast<Code>(mt_error());
    std::string message = mt_error_message();
    mt_clear();
    throw Error(code, std::string(name) + ": in the callback: " + message);
  }
  if (status != MT_OK) {
    throw Error(static_cast<Code>(status),
                std::string(name) + ": the callback returned " + std::to_string(status));
  }
  std::vector<Tensor> values;
  for (size_t i = 0; i < count; ++i) {
    if (!results[i]) fail(Code::user, "%s: the callback left result %zu unset", name, i);
    values.push_back(value(results[i]));
  }
  return values;
}

}  // namespace mt::api
