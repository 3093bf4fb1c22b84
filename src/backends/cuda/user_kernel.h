// SPDX-License-Identifier: Apache-2.0
// The user's own kernels, in CUDA C.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/prepare.h"
#include "ops/kernel.h"

namespace mt::cuda {

// Compiles the launch's kernel, if that has not been done, and sees whether its parameters are what
// the launch has for them. `shared_memory`: what the device can give a block.
void prepare_user_kernel(Launch* launch, const std::vector<Dtype>& inputs, int device,
                         size_t shared_memory);

void launch_user_kernel(const CallGroup& group, const Run& run);

// The types of the parameters in a C++ type of a function, as demanglers write it:
// "void (*)(float const*, int)".
std::vector<std::string> parameter_types(const std::string& type);

}  // namespace mt::cuda
