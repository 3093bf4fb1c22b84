// SPDX-License-Identifier: Apache-2.0
// Copies values from one device to another.
#pragma once

#include "graph/node.h"

namespace mt {

// The same values on another device, copied at once. The gradient is copied back the same way.
Tensor to_device(const Tensor& x, Device& device);

}  // namespace mt
