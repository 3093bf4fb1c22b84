// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver/allocator.h"

#include <algorithm>
#include <bit>

#include "backends/cuda/driver/driver.h"
#include "base/rounding.h"

namespace mt::cuda {
namespace {

constexpr size_t smallest = 256;  // which is also how blocks are aligned

// Eight sizes to a power of two bound the waste at an eighth of a block.
size_t rounded(size_t bytes) {
  if (bytes <= smallest) return smallest;
  size_t step = std::max(std::bit_floor(bytes - 1) / 8, smallest);
  return round_up(bytes, step);
}

}  // namespace

void* DeviceAllocator::allocate(size_t bytes) {
  if (bytes > size_t{1} << 60) return nullptr;
  size_t block = rounded(bytes);
  int64_t size = static_cast<int64_t>(block);
  std::lock_guard lock(mutex_);
  MemoryStatistics& s = statistics_;
  if (s.limit > 0 && s.in_use + size > s.limit) return nullptr;
  void* data = nullptr;
  auto found = free_.find(block);
  if (found != free_.end() && !found->second.empty()) {
    data = found->second.back();
    found->second.pop_back();
    s.cached -= size;
  } else {
    data = allocate_memory(device_, block);
    if (!data) {
      release_cached_locked();
      data = allocate_memory(device_, block);
    }
    if (!data) return nullptr;
    ++s.allocations;
  }
  hand_out(data, bytes);
  s.in_use += size;
  s.peak = std::max(s.peak, s.in_use);
  return data;
}

void DeviceAllocator::release(void* data, size_t bytes) {
  if (!data) return;
  size_t block = rounded(bytes);
  std::lock_guard lock(mutex_);
  take_back(data);
  free_[block].push_back(data);
  statistics_.in_use -= static_cast<int64_t>(block);
  statistics_.cached += static_cast<int64_t>(block);
}

MemoryStatistics DeviceAllocator::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

void DeviceAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  statistics_.peak = statistics_.in_use;
}

void DeviceAllocator::set_limit(int64_t bytes) {
  std::lock_guard lock(mutex_);
  statistics_.limit = bytes;
}

void DeviceAllocator::release_cached() {
  std::lock_guard lock(mutex_);
  release_cached_locked();
}

void DeviceAllocator::release_cached_locked() {
  for (auto& [size, blocks] : free_) {
    for (void* data : blocks) free_memory(device_, data);  // the driver waits for the device
  }
  free_.clear();
  statistics_.cached = 0;
}

}  // namespace mt::cuda
