// SPDX-License-Identifier: Apache-2.0
// What operators ask of how a value lies in memory.
#pragma once

#include "graph/node.h"

namespace mt {

Tensor contiguous(const Tensor& x);  // copies only what is not
Tensor reshaped(const Tensor& x);    // what x is a reshape of, if that is still known; else nullptr

}  // namespace mt
