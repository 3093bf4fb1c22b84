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
  bool host_memory;  // its memory can be read by the host as it is
  bool fuses;        // false: every node runs by itself, by its naive value
};

}  // namespace mt
