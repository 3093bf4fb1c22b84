// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cache.h"

#include <unistd.h>

namespace mt::cpu {
namespace {

// Whether the system reports a size, in bytes, and one below this.
bool is_below(int name, long bytes) {
  const long size = sysconf(name);
  return size > 0 && size < bytes;
}

}  // namespace

#ifdef _SC_LEVEL1_DCACHE_SIZE
// 48 KB hold both current and upcoming data, 32 KB do not.
const bool small_first_cache = is_below(_SC_LEVEL1_DCACHE_SIZE, 48 << 10);
const bool small_second_cache = is_below(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
#else
const bool small_first_cache = false, small_second_cache = false;
#endif

}  // namespace mt::cpu
