// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mt::cuda {

// What bulk copies find an array by (driver.h makes it, bulk_copy.h reads it).
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

}  // namespace mt::cuda
