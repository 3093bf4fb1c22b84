// SPDX-License-Identifier: Apache-2.0
// Calls of user-defined kernels.
#pragma once

#include "ops/kernel.h"

namespace mt {

// Checks the launch and records it on the device where the inputs lie. Outside a trace it runs at
// once, so that the call itself reports what the kernel's function throws. Returns its results.
std::vector<Tensor> launch_kernel(std::shared_ptr<Launch> launch, Device& device,
                                  const std::vector<Tensor>& inputs);

}  // namespace mt
