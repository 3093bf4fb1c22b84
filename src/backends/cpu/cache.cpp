// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cache.h"

#include <unistd.h>

namespace mt::cpu {
namespace {

// 0: unknown. 48 KB hold both current and upcoming data, 32 KB do not.
long first_cache_size() {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  return sysconf(_SC_LEVEL1_DCACHE_SIZE);
#else
  return 0;
#endif
}

}  // namespace

const bool small_first_cache = first_cache_size() > 0 && first_cache_size() < (48 << 10);

}  // namespace mt::cpu
