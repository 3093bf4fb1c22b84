// SPDX-License-Identifier: Apache-2.0
// Values from one device to another.
#pragma once

#include "graph/node.h"

namespace mt {

// The same values on another device; runs now. Its gradient goes back the same way.
Tensor to_device(const Tensor& x, Device& device);

}  // namespace mt
