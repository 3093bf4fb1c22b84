// SPDX-License-Identifier: Apache-2.0
// Trading computation for memory in backward.
#pragma once

#include <functional>
#include <vector>

#include "graph/node.h"

namespace mt {

// Calls `function` on `inputs` and returns its results. None of its intermediate values is kept for
// backward, which records the function's operators again. (Chen and others, 2016, arXiv
// 1604.06174.)
std::vector<Tensor> checkpoint(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function,
    const std::vector<Tensor>& inputs);

}  // namespace mt
