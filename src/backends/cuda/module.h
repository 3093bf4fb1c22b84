// SPDX-License-Identifier: Apache-2.0
// What libmtorch_cuda.so exports: one function, by which the core finds its devices.
#pragma once

#include "tensor/device.h"

namespace mt::cuda {

struct Module {
  const char* version;    // of the core it was built with: their structures must be the same
  int (*device_count)();  // fails, saying why, when there is no GPU that can be used
  Device& (*device)(int index);
};
constexpr char module_function[] = "mt_cuda_module";
using ModuleFunction = const Module* (*)();

}  // namespace mt::cuda
