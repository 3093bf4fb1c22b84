// SPDX-License-Identifier: Apache-2.0
#include "api/callback.h"

#include <string>

#include "api/guard.h"
#include "mtorch/error.h"

namespace mt::api {

CallbackScope::CallbackScope(const char* name) : name_(name) {
  if (error_pending()) fail(Code::user, "%s: an error is pending", name);
  scope_ = mt_scope_begin();
  if (!scope_) throw std::bad_alloc();
}

CallbackScope::~CallbackScope() { mt_scope_end(scope_); }

std::vector<mt_tensor*> CallbackScope::handles(const std::vector<Tensor>& tensors) const {
  std::vector<mt_tensor*> result;
  for (const Tensor& tensor : tensors) result.push_back(new_handle(tensor));
  return result;
}

void CallbackScope::check(mt_status status) const {
  if (error_pending()) {
    // What the callback's own calls latched says more than its status.
    Code code = static_cast<Code>(mt_error());
    std::string message = mt_error_message();
    mt_clear();
    const std::string where = std::string(name_) + ": in the callback: ";
    throw Error(code, message.starts_with(where) ? message : where + message);  // once, if nested
  }
  if (status != MT_OK) {
    bool known = status <= MT_EINVAL && status >= MT_EUNSUPPORTED;
    throw Error(known ? static_cast<Code>(status) : Code::user,
                std::string(name_) + ": the callback returned " + std::to_string(status));
  }
}

std::vector<Tensor> call_function(const char* name, mt_function function, void* user,
                                  const std::vector<Tensor>& inputs, size_t most) {
  CallbackScope scope(name);
  std::vector<mt_tensor*> arguments = scope.handles(inputs), results(most, nullptr);
  scope.check(function(user, arguments.data(), arguments.size(), results.data(), results.size()));
  while (results.size() > 1 && !results.back()) results.pop_back();
  std::vector<Tensor> values;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) fail(Code::user, "%s: the callback left result %zu unset", name, i);
    values.push_back(value(results[i]));
  }
  return values;
}

}  // namespace mt::api
