// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/allocator.h"
#include "base/control_groups.h"
#include "base/rounding.h"

namespace mt {
namespace {

constexpr size_t alignment = 64;
constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t smallest = 64;
// Blocks of huge pages start at one of the first `places` small pages of their first huge page.
// Some processors (Zen) index the first-level cache by a hash of the address that is the same for
// arrays a multiple of 256 MB apart, whose lines would then all evict each other.
constexpr size_t small_page = 4096, places = 16;
// A load waits for an earlier store whose address has the same last 12 bits. Blocks of whole pages
// would follow each other at a distance of 128 bytes modulo the page (glibc), so that a loop over
// several arrays loads where it is about to store. `apart` more bytes make that half a page.
constexpr size_t apart_from = size_t{16} << 10, apart = 2048 - 128;
// Four size classes per power of two bound the waste at a quarter of a block.
constexpr int class_count = 4 * 58;
// Blocks up to this size are cached by the thread that frees them, without a lock: a few of each
// class, less than 5 MiB per thread in all.
constexpr size_t thread_cached = size_t{64} << 10;
constexpr int thread_classes = 64;
constexpr size_t thread_bytes_per_class = size_t{256} << 10;
// Under the address sanitizer nothing is cached, and blocks have the size that was asked for, so
// that it sees every misuse.
#ifdef __SANITIZE_ADDRESS__
constexpr bool watched = true;
#else
constexpr bool watched = false;
#endif
constexpr size_t thread_blocks_per_class = watched ? 0 : 32;

// Beyond this much idle memory, freed blocks go back to the system. A step frees about what the
// next one takes, which is most of what a program uses; the rest of the machine, or of its control
// group's limit, is left to others.
int64_t most_cached() {
  const double machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return static_cast<int64_t>(std::min(machine, memory_limit_of_groups()) / 4);
}

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
  // `held`: what the system has given and not got back; the part not in use is cached.
  std::atomic<int64_t> in_use{0}, held{0}, peak{0}, allocations{0}, limit{0};
  int64_t cached() const { return std::max<int64_t>(held - in_use, 0); }
};

// Blocks of one class, chained through their own first bytes, so that keeping one takes no memory.
class FreeBlocks {
 public:
  size_t count() const { return count_; }
  void push(void* block) {
    *static_cast<void**>(block) = std::exchange(first_, block);
    ++count_;
  }
  void* pop() {  // nullptr: there is none
    if (!first_) return nullptr;
    --count_;
    return std::exchange(first_, *static_cast<void**>(first_));
  }

 private:
  void* first_ = nullptr;
  size_t count_ = 0;
};

class HostAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes) override;
  void release(void* data, size_t bytes) override;
  MemoryStatistics statistics() const override {
    return {counters_.in_use, counters_.peak, counters_.cached(), counters_.allocations,
            counters_.limit};
  }
  void reset_peak() override { counters_.peak = counters_.in_use.load(); }
  void set_limit(int64_t bytes) override { counters_.limit = bytes; }
  void release_cached() override;

  // Puts a block that is no longer in use into the shared lists.
  void give_shared(int size_class, void* data, size_t block);

 private:
  void* take_shared(int size_class);
  void give_back(void* data, size_t block);

  const int64_t most_cached_ = most_cached();
  Counters counters_;
  std::mutex mutex_;
  FreeBlocks shared_[class_count];
};

struct ThreadCache {
  FreeBlocks blocks[thread_classes];  // the classes up to thread_cached
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
  for (int i = 0; i < thread_classes; ++i) {
    while (void* data = blocks[i].pop()) instance().give_shared(i, data, block_size(i));
  }
}

void* system_allocate(size_t bytes, size_t block) {
  if (watched) {
    void* exact = nullptr;
    return posix_memalign(&exact, alignment, bytes) == 0 ? exact : nullptr;
  }
  if (block < huge_page) {
    return std::aligned_alloc(alignment, block >= apart_from ? block + apart : block);
  }
  static std::atomic<size_t> count{0};
  const size_t place = count.fetch_add(1, std::memory_order_relaxed) % places * small_page;
  void* data = std::aligned_alloc(huge_page, round_up(place + block, huge_page));
  if (!data) return nullptr;
  madvise(data, place + block, MADV_HUGEPAGE);
  return static_cast<char*>(data) + place;
}

void system_free(void* data, size_t block) {
  const bool placed = !watched && block >= huge_page;
  std::free(static_cast<char*>(data) -
            (placed ? reinterpret_cast<uintptr_t>(data) % huge_page : 0));
}

void* HostAllocator::take_shared(int size_class) {
  std::lock_guard lock(mutex_);
  return shared_[size_class].pop();
}

void HostAllocator::give_back(void* data, size_t block) {
  system_free(data, block);
  counters_.held -= static_cast<int64_t>(block);
}

void HostAllocator::give_shared(int size_class, void* data, size_t block) {
  if (watched || counters_.cached() > most_cached_) return give_back(data, block);
  std::lock_guard lock(mutex_);
  shared_[size_class].push(data);
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
    if (ThreadCache* cache = this_thread_cache()) data = cache->blocks[size_class].pop();
  }
  if (!data) data = take_shared(size_class);
  if (!data) {
    data = system_allocate(bytes, block);
    if (!data) {
      release_cached();
      data = system_allocate(bytes, block);
    }
    if (!data) return nullptr;
    counters_.held.fetch_add(size, std::memory_order_relaxed);
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
    if (ThreadCache* cache = this_thread_cache()) {
      FreeBlocks& blocks = cache->blocks[size_class];
      const bool room = blocks.count() * block < thread_bytes_per_class;
      if (room && blocks.count() < thread_blocks_per_class) return blocks.push(data);
    }
  }
  give_shared(size_class, data, block);
}

void HostAllocator::release_cached() {
  auto empty = [this](FreeBlocks* lists, int count) {
    for (int i = 0; i < count; ++i) {
      while (void* data = lists[i].pop()) give_back(data, block_size(i));
    }
  };
  if (ThreadCache* cache = this_thread_cache()) empty(cache->blocks, thread_classes);
  std::lock_guard lock(mutex_);
  empty(shared_, class_count);
}

}  // namespace

Allocator& host_allocator() { return instance(); }
void fail_allocation_after(int64_t n) { failure_countdown = n; }
bool allocation_fails() {
  int64_t left = failure_countdown.load(std::memory_order_relaxed);
  while (left > 0 && !failure_countdown.compare_exchange_weak(left, left - 1)) {
  }
  return left == 0;
}

}  // namespace mt
