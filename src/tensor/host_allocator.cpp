// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tensor/allocator.h"
#include "tensor/rounding.h"

namespace mt {
namespace {

constexpr size_t alignment = 64;
constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t smallest = 64;
// Four classes to a power of two bound the waste at a quarter of a block.
constexpr int class_count = 4 * 58;
// Blocks up to this size are cached by the thread that frees them, without a lock.
constexpr size_t thread_cached = size_t{64} << 10;
// Beyond this much idle memory, freed blocks go back to the system. Under the address sanitizer all
// do, and blocks have the size that was asked for, so that it sees every misuse.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t thread_blocks_per_class = 0;
constexpr int64_t cache_watermark = 0;
#else
constexpr size_t thread_blocks_per_class = 32;
constexpr int64_t cache_watermark = int64_t{4} << 30;
#endif

std::atomic<int64_t> failure_countdown{-1};

size_t rounded(size_t bytes) {
  if (bytes <= smallest) return smallest;
  size_t step = std::bit_floor(bytes - 1) / 4;
  if (step < alignment) step = alignment;
  return round_up(bytes, step);
}

int class_of(size_t block) {
  int power = std::bit_width(block - 1) - 6;  // 64 bytes and less: 0
  if (power <= 0) return 0;
  size_t base = size_t{32} << power;  // block is in (base, 2 * base]
  return 4 * power + static_cast<int>((block - base - 1) / (base / 4));
}

struct Counters {
  std::atomic<int64_t> in_use{0}, peak{0}, cached{0}, allocations{0}, limit{0};
};

class HostAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes) override;
  void release(void* data, size_t bytes) override;
  MemoryStatistics statistics() const override {
    return {counters_.in_use, counters_.peak, counters_.cached, counters_.allocations,
            counters_.limit};
  }
  void reset_peak() override { counters_.peak = counters_.in_use.load(); }
  void set_limit(int64_t bytes) override { counters_.limit = bytes; }
  void release_cached() override;

  void* take_shared(int size_class, size_t block);
  void give_shared(int size_class, void* data, size_t block);

 private:
  Counters counters_;
  std::mutex mutex_;
  std::vector<void*> shared_[class_count];
};

struct ThreadCache {
  std::vector<void*> blocks[64];  // the classes up to thread_cached
  ~ThreadCache();
};
thread_local ThreadCache* thread_cache = nullptr;
struct ThreadCacheOwner {
  ThreadCache cache;
  ThreadCacheOwner() { thread_cache = &cache; }
  ~ThreadCacheOwner() { thread_cache = nullptr; }
};
ThreadCache* this_thread_cache() {
  if (!thread_cache) {
    thread_local bool tried = false;
    if (tried) return nullptr;  // the thread is ending
    tried = true;
    thread_local ThreadCacheOwner owner;
  }
  return thread_cache;
}

HostAllocator& instance() {
  // Never destroyed: threads and static objects may free memory after main has returned.
  static HostAllocator* allocator = new HostAllocator;
  return *allocator;
}

size_t block_size(int size_class) {
  if (size_class == 0) return smallest;
  size_t base = size_t{32} << (size_class / 4);
  return base + base / 4 * static_cast<size_t>(size_class % 4 + 1);
}

ThreadCache::~ThreadCache() {
  for (int i = 0; i < 64; ++i) {
    for (void* data : blocks[i]) instance().give_shared(i, data, block_size(i));
  }
}

void* system_allocate([[maybe_unused]] size_t bytes, size_t block) {
#ifdef __SANITIZE_ADDRESS__
  void* exact = nullptr;
  return posix_memalign(&exact, alignment, bytes) == 0 ? exact : nullptr;
#endif
  if (block < huge_page) return std::aligned_alloc(alignment, block);
  void* data = std::aligned_alloc(huge_page, round_up(block, huge_page));
  if (data) madvise(data, block, MADV_HUGEPAGE);
  return data;
}

void* HostAllocator::take_shared(int size_class, size_t block) {
  std::lock_guard lock(mutex_);
  auto& list = shared_[size_class];
  if (list.empty()) return nullptr;
  void* data = list.back();
  list.pop_back();
  counters_.cached -= static_cast<int64_t>(block);
  return data;
}

void HostAllocator::give_shared(int size_class, void* data, size_t block) {
  if (counters_.cached.load() + static_cast<int64_t>(block) > cache_watermark) {
    std::free(data);
    return;
  }
  std::lock_guard lock(mutex_);
  shared_[size_class].push_back(data);
  counters_.cached += static_cast<int64_t>(block);
}

void* HostAllocator::allocate(size_t bytes) {
  if (allocation_fails() || bytes > (size_t{1} << 60)) return nullptr;
  size_t block = rounded(bytes);
  int64_t size = static_cast<int64_t>(block);
  int64_t limit = counters_.limit.load(std::memory_order_relaxed);
  if (limit > 0 && counters_.in_use.load(std::memory_order_relaxed) + size > limit) return nullptr;
  int size_class = class_of(block);
  void* data = nullptr;
  if (block <= thread_cached) {
    ThreadCache* cache = this_thread_cache();
    if (cache && !cache->blocks[size_class].empty()) {
      data = cache->blocks[size_class].back();
      cache->blocks[size_class].pop_back();
    }
  }
  if (!data) data = take_shared(size_class, block);
  if (!data) {
    data = system_allocate(bytes, block);
    if (!data) {
      release_cached();
      data = system_allocate(bytes, block);
    }
    if (!data) return nullptr;
    counters_.allocations.fetch_add(1, std::memory_order_relaxed);
  }
  int64_t in_use = counters_.in_use.fetch_add(size, std::memory_order_relaxed) + size;
  int64_t peak = counters_.peak.load(std::memory_order_relaxed);
  while (in_use > peak && !counters_.peak.compare_exchange_weak(peak, in_use)) {
  }
  return data;
}

void HostAllocator::release(void* data, size_t bytes) {
  if (!data) return;
  size_t block = rounded(bytes);
  counters_.in_use.fetch_sub(static_cast<int64_t>(block), std::memory_order_relaxed);
  int size_class = class_of(block);
  if (block <= thread_cached) {
    ThreadCache* cache = this_thread_cache();
    if (cache && cache->blocks[size_class].size() < thread_blocks_per_class) {
      cache->blocks[size_class].push_back(data);
      return;
    }
  }
  give_shared(size_class, data, block);
}

void HostAllocator::release_cached() {
  std::lock_guard lock(mutex_);
  for (auto& list : shared_) {
    for (void* data : list) std::free(data);
    list.clear();
  }
  counters_.cached = 0;
}

}  // namespace

Allocator& host_allocator() { return instance(); }
void fail_allocation_after(int64_t n) { failure_countdown = n; }
bool allocation_fails() {
  return failure_countdown.load(std::memory_order_relaxed) >= 0 && failure_countdown-- == 0;
}

}  // namespace mt
