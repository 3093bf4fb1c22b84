// SPDX-License-Identifier: Apache-2.0
// Where a device's memory comes from, and how much of it is in use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mt {

struct MemoryStatistics {
  int64_t in_use = 0;       // bytes handed out now
  int64_t peak = 0;         // the most ever handed out since the last reset
  int64_t cached = 0;       // bytes kept for reuse
  int64_t allocations = 0;  // blocks taken from the system
  int64_t limit = 0;        // as set; 0: none
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  // 64-byte aligned, uninitialised; nullptr when the memory or the limit is exhausted. Zero bytes
  // give a valid pointer.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* data, size_t bytes) = 0;  // with the size that was asked for
  virtual MemoryStatistics statistics() const = 0;
  virtual void reset_peak() = 0;
  virtual void set_limit(int64_t bytes) = 0;  // 0: none
  virtual void release_cached() = 0;
};

// The host's allocator: freed blocks are kept by size class, because fresh pages cost more than
// most kernels; blocks of 2 MiB and more ask for huge pages.
Allocator& host_allocator();

// For tests: all allocations fail from the n-th on (0: the next one); negative: none does.
void fail_allocation_after(int64_t n);
// Counts an allocation that is about to be made; returns whether it must fail.
bool allocation_fails();

}  // namespace mt
