// SPDX-License-Identifier: Apache-2.0
// A place where tensors live and work runs.
#pragma once

#include <string>

#include "base/allocator.h"

namespace mt {

class Backend;  // backends/backend.h

struct Device {
  std::string name;      // "cpu", "cpu:reference", "cuda:0"
  Allocator* allocator;  // of the device's own memory
  Backend* backend;
  bool host_memory;  // the host can read its memory directly
  bool fuses;        // false: every node runs alone, by its naive implementation
};

}  // namespace mt
