// SPDX-License-Identifier: Apache-2.0
// Calling the user's functions of tensors.
#pragma once

#include <vector>

#include "api/handle.h"
#include "mtorch/tape.h"

namespace mt::api {

// Runs `function` in a scope of its own on handles of `inputs`, and returns the values of its
// `count` results. A callback that fails, sets no result or leaves an error pending is thrown as
// that error, after `name`.
std::vector<Tensor> call_function(const char* name, mt_function function, void* user,
                                  const std::vector<Tensor>& inputs, size_t count);

}  // namespace mt::api
