// SPDX-License-Identifier: Apache-2.0
// Calls of the user's own kernels.
#pragma once

#include "ops/kernel.h"

namespace mt {

// Checks the launch and records it on the device where the inputs lie. Outside of a trace it runs
// at once, so that what a function has to say is said by the call. Returns its results.
std::vector<Tensor> launch_kernel(std::shared_ptr<Launch> launch, Device& device,
                                  const std::vector<Tensor>& inputs);

}  // namespace mt
