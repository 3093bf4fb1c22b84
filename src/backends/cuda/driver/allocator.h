// SPDX-License-Identifier: Apache-2.0
// Device memory. Taking it from the driver stops the whole device, so freed blocks are kept by size
// and given out again. All work on a device is in one stream: whoever is given a block uses it
// after whoever gave it back, with nothing to wait for.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "base/allocator.h"

namespace mt::cuda {

class DeviceAllocator final : public Allocator {
 public:
  explicit DeviceAllocator(int device) : device_(device) {}

  void* allocate(size_t bytes) override;
  void release(void* data, size_t bytes) override;
  MemoryStatistics statistics() const override;
  void reset_peak() override;
  void set_limit(int64_t bytes) override;
  void release_cached() override;

 private:
  void release_cached_locked();

  const int device_;
  mutable std::mutex mutex_;
  MemoryStatistics statistics_;
  std::map<size_t, std::vector<void*>> free_;  // by size
};

}  // namespace mt::cuda
