// SPDX-License-Identifier: Apache-2.0
// Cache sizes that kernels assume, in bytes: those of a current server core. With smaller caches
// part of the gain is lost, but never a result.
#pragma once

#include <cstdint>

namespace mt::cpu {

constexpr int64_t first_cache = 32 << 10;  // for what is read again, beside what streams past
constexpr int64_t second_cache = 2 << 20;  // larger data comes from further away each time
constexpr int64_t last_cache = 32 << 20;   // larger results are written past the caches

// Whether the first-level cache, by the size that the system reports, has no room for upcoming data
// beside the current working set. Prefetches then go to the second-level cache.
extern const bool small_first_cache;

// Whether the second-level cache, by the size that the system reports, is smaller than 1 MiB.
extern const bool small_second_cache;

// Prefetches a line of upcoming data. Always inlined: gcc 12 treats a function that only prefetches
// as one without effect.
[[gnu::always_inline]] inline void fetch_line(const void* at) {
  if (small_first_cache) {
    __builtin_prefetch(at, 0, 2);
  } else {
    __builtin_prefetch(at);
  }
}

}  // namespace mt::cpu
