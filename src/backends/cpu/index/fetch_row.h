// SPDX-License-Identifier: Apache-2.0
// Prefetches rows that come in no order the hardware could foresee, to the second-level cache,
// which can have more lines under way than the first.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"

namespace mt::cpu {

constexpr int64_t rows_ahead = 64;

// Always inlined: gcc 12 treats a function that only prefetches as one without effect.
[[gnu::always_inline]] inline void fetch_row(const void* row, int64_t bytes) {
  constexpr int64_t most = 8 * cache_line;  // the hardware prefetches the rest of longer rows
  for (int64_t at = 0; at < std::min(bytes, most); at += cache_line) {
    __builtin_prefetch(static_cast<const char*>(row) + at, 0, 2);
  }
}

}  // namespace mt::cpu
