// SPDX-License-Identifier: Apache-2.0
// What kernels count on of the processor's caches, in bytes. They are a server core's of today;
// where caches are smaller a part of the gain is lost, and never a result.
#pragma once

#include <cstdint>

namespace mt::cpu {

constexpr int64_t first_cache = 32 << 10;  // for what is read again, beside what passes by
constexpr int64_t second_cache = 2 << 20;  // what is larger comes from further away each time
constexpr int64_t last_cache = 32 << 20;   // larger results are written past the caches

// Whether the first-level cache, as the system tells its size, has no room for what comes next
// beside what is at work. Then the second-level cache is the place to fetch it to.
extern const bool small_first_cache;

// Begins to fetch what comes next. Inlined always: gcc 12 takes a function of nothing but
// prefetches for one without effect.
[[gnu::always_inline]] inline void fetch_line(const void* at) {
  if (small_first_cache) {
    __builtin_prefetch(at, 0, 2);
  } else {
    __builtin_prefetch(at);
  }
}

}  // namespace mt::cpu
