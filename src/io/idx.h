// SPDX-License-Identifier: Apache-2.0
// The IDX format of the MNIST files, plain or compressed by gzip.
#pragma once

#include "io/host.h"

namespace mt {

Tensor load_idx(const char* path, Device& device);

}  // namespace mt
