// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/module.h"

#include <mutex>

#include "backends/cuda/build_version.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/driver/allocator.h"

namespace mt::cuda {
namespace {

Device* make_device(int index) {
  auto* backend = new CudaBackend(index);
  auto* allocator = new DeviceAllocator(index);
  return new Device{"cuda:" + std::to_string(index), allocator, backend, false, true};
}

// Devices live for ever: tensors may outlive main.
Device& device(int index) {
  static std::mutex mutex;
  static std::vector<Device*> made;
  std::lock_guard lock(mutex);
  if (made.size() <= static_cast<size_t>(index)) made.resize(static_cast<size_t>(index) + 1);
  Device*& result = made[static_cast<size_t>(index)];
  if (!result) result = make_device(index);
  return *result;
}

const Module module{MT_BUILD_VERSION, device_count, device};

}  // namespace
}  // namespace mt::cuda

extern "C" __attribute__((visibility("default"))) const mt::cuda::Module* mt_cuda_module() {
  return &mt::cuda::module;
}
