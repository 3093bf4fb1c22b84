// SPDX-License-Identifier: Apache-2.0
#include "out_of_memory/failing.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/allocator.h"

namespace {

thread_local int64_t left = -1;  // allocations until one fails; negative: none does
thread_local bool forever = false;
thread_local int64_t made = 0;
std::atomic<int64_t> alive{0};

void* take(std::size_t bytes, std::size_t alignment) {
  ++made;
  if (left == 0) {
    if (!forever) left = -1;
    return nullptr;
  }
  if (left > 0) --left;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, bytes ? bytes : alignment);
  if (memory) alive.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = take(bytes, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

void give(void* memory) {
  if (memory) alive.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t bytes) { return take_or_throw(bytes, usual); }
void* operator new[](std::size_t bytes) { return take_or_throw(bytes, usual); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, usual); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return take(bytes, usual);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { give(memory); }
void operator delete[](void* memory) noexcept { give(memory); }
void operator delete(void* memory, std::size_t) noexcept { give(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give(memory); }

namespace mt::testing {

void fail_after(Failing kind, int64_t n) {
  if (kind == Failing::elements) return fail_allocation_after(n);
  forever = kind == Failing::objects;
  left = n;
}

void stop_failing() {
  left = -1;
  fail_allocation_after(-1);
}

int64_t objects_made() { return made; }
int64_t objects_alive() { return alive.load(); }

}  // namespace mt::testing
