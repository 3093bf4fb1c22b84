// SPDX-License-Identifier: Apache-2.0
// Rows that come in no order that the processor could foresee are asked for early, from the
// second-level cache, which has more lines under way than the first.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"

namespace mt::cpu {

constexpr int64_t rows_ahead = 64;

// Inlined always: gcc 12 takes a function of nothing but prefetches for one without effect.
[[gnu::always_inline]] inline void fetch_row(const void* row, int64_t bytes) {
  constexpr int64_t most = 8 * cache_line;  // longer rows follow by themselves
  for (int64_t at = 0; at < std::min(bytes, most); at += cache_line) {
    __builtin_prefetch(static_cast<const char*>(row) + at, 0, 2);
  }
}

}  // namespace mt::cpu
