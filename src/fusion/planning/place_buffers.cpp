// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/place_buffers.h"

#include <algorithm>

#include "base/rounding.h"

namespace mt {

void place_buffers(Plan* plan) {
  struct Life {
    int buffer, first, last;
  };
  size_t count = plan->buffers.size();
  std::vector<int> first(count, -1), last(count, -1), used;
  for (size_t g = 0; g < plan->groups.size(); ++g) {
    used.clear();
    buffers_read(plan->groups[g], &used);
    buffers_written(plan->groups[g], &used);
    for (int buffer : used) {
      size_t b = buffer;
      if (first[b] < 0) first[b] = static_cast<int>(g);
      last[b] = static_cast<int>(g);
    }
  }
  std::vector<Life> lives;
  for (size_t b = 0; b < count; ++b) {
    if (plan->buffers[b].kind == BufferKind::arena && first[b] >= 0 && plan->buffers[b].bytes > 0) {
      lives.push_back({static_cast<int>(b), first[b], last[b]});
    }
  }
  auto bytes_of = [&](const Life& life) {
    return round_up(plan->buffers[life.buffer].bytes, cache_line);
  };
  // Largest first, each at the lowest offset that is free for as long as it lives.
  std::stable_sort(lives.begin(), lives.end(),
                   [&](const Life& a, const Life& b) { return bytes_of(a) > bytes_of(b); });
  std::vector<Life> placed;  // by offset
  for (const Life& life : lives) {
    int64_t offset = 0;
    for (const Life& other : placed) {
      if (other.last < life.first || life.last < other.first) continue;
      int64_t begin = plan->buffers[other.buffer].offset;
      if (offset + bytes_of(life) <= begin) break;
      offset = std::max(offset, begin + bytes_of(other));
    }
    plan->buffers[life.buffer].offset = offset;
    plan->arena_bytes = std::max(plan->arena_bytes, offset + bytes_of(life));
    auto position = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](int64_t at, const Life& other) { return at < plan->buffers[other.buffer].offset; });
    placed.insert(position, life);
  }
}

}  // namespace mt
