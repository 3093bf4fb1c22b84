// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "base/allocator.h"

namespace mt {
namespace {

// Arrays that lie a round number of megabytes apart push each other out of some caches.
TEST(HostAllocator, LargeBlocksBeginAtPagesOfTheirOwn) {
  [[maybe_unused]] constexpr size_t bytes = size_t{5} << 20, huge_page = size_t{2} << 20,
                                    page = 4096;
  Allocator& allocator = host_allocator();
  void *a = allocator.allocate(bytes), *b = allocator.allocate(bytes);
  ASSERT_TRUE(a && b);
  std::memset(a, 1, bytes);
  std::memset(b, 2, bytes);
#ifndef __SANITIZE_ADDRESS__  // where blocks are the system's
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % page, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % page, 0u);
  EXPECT_NE(reinterpret_cast<uintptr_t>(a) % huge_page, reinterpret_cast<uintptr_t>(b) % huge_page);
#endif
  EXPECT_EQ(static_cast<char*>(a)[bytes - 1], 1);
  allocator.release(a, bytes);
  allocator.release(b, bytes);
  allocator.release_cached();  // finds where they began
}

}  // namespace
}  // namespace mt
