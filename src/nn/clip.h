// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/parameters.h"

namespace mt {

// Scales all gradients by min(1, most / (norm + 1e-6)) and returns norm, that of all of them as one
// vector. No value is read.
Tensor clip_gradient_norm(Parameters& parameters, double most);

}  // namespace mt
