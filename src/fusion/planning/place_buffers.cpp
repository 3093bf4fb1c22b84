// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/place_buffers.h"

#include <algorithm>
#include <variant>

#include "base/rounding.h"
#include "ops/slice.h"

namespace mt {
namespace {

// Smaller ones gain more from reusing memory that has just been used.
constexpr int64_t fewest_in_middle = 256 * 1024;

struct Life {
  int buffer, first, last;
};

// Places the largest first, each in the lowest gap that is free during its life: at its start or,
// if `in_middle`, centred on what was there. Returns the arena's bytes.
int64_t place(const std::vector<Life>& lives, bool in_middle, Plan* plan) {
  auto bytes_of = [&](const Life& life) {
    return round_up(plan->buffers[life.buffer].bytes, cache_line);
  };
  int64_t arena = 0;
  std::vector<Life> placed;  // by offset
  for (const Life& life : lives) {
    const int64_t bytes = bytes_of(life);
    int64_t offset = 0, end = arena;
    for (const Life& other : placed) {
      if (other.last < life.first || life.last < other.first) continue;
      const int64_t begin = plan->buffers[other.buffer].offset;
      if (offset + bytes <= begin) {
        end = begin;
        break;
      }
      offset = std::max(offset, begin + bytes_of(other));
    }
    if (in_middle && bytes >= fewest_in_middle && offset + bytes < end) {
      // Centre on the largest buffer that is there at other times, so that each thread has the same
      // half of both; else in the gap.
      int64_t largest = 0, middle = offset + (end - offset) / 2;
      for (const Life& other : placed) {
        const int64_t begin = plan->buffers[other.buffer].offset, own = bytes_of(other);
        if (begin < offset || begin + own > end || own <= largest) continue;
        largest = own;
        middle = begin + own / 2;
      }
      offset = std::clamp(middle - bytes / 2, offset, end - bytes) / cache_line * cache_line;
    }
    plan->buffers[life.buffer].offset = offset;
    arena = std::max(arena, offset + bytes);
    auto position = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](int64_t at, const Life& other) { return at < plan->buffers[other.buffer].offset; });
    placed.insert(position, life);
  }
  return arena;
}

// The source of padding lives until the contraction that reads the padding, if nothing else does.
void keep_padded(const Plan& plan, const std::vector<int>& uses, int64_t most_bytes,
                 std::vector<int>* last) {
  for (const Group& group : plan.groups) {
    const auto* call = std::get_if<CallGroup>(&group.work);
    if (!call || call->op != &pad_op) continue;
    const size_t padding = static_cast<size_t>(call->output.buffer);
    const int reader = (*last)[padding];
    const auto* contraction = std::get_if<ContractGroup>(&plan.groups[reader].work);
    if (!contraction || contraction->b.buffer != call->output.buffer || uses[padding] != 2)
      continue;
    const int64_t entries = std::max<int64_t>(size_of_group(contraction->contraction.batch), 1);
    if (plan.buffers[padding].bytes / entries > most_bytes) continue;
    int& kept = (*last)[static_cast<size_t>(call->inputs[0].buffer)];
    kept = std::max(kept, reader);
  }
}

}  // namespace

void place_buffers(Plan* plan, int64_t most_padding_made) {
  size_t count = plan->buffers.size();
  std::vector<int> first(count, -1), last(count, -1), uses(count, 0), used;
  for (size_t g = 0; g < plan->groups.size(); ++g) {
    used.clear();
    buffers_read(plan->groups[g], &used);
    buffers_written(plan->groups[g], &used);
    for (int buffer : used) {
      size_t b = buffer;
      if (first[b] < 0) first[b] = static_cast<int>(g);
      last[b] = static_cast<int>(g);
      ++uses[b];
    }
  }
  keep_padded(*plan, uses, most_padding_made, &last);
  std::vector<Life> lives;
  for (size_t b = 0; b < count; ++b) {
    if (plan->buffers[b].kind == BufferKind::arena && first[b] >= 0 && plan->buffers[b].bytes > 0) {
      lives.push_back({static_cast<int>(b), first[b], last[b]});
    }
  }
  std::stable_sort(lives.begin(), lives.end(), [&](const Life& a, const Life& b) {
    return plan->buffers[a.buffer].bytes > plan->buffers[b.buffer].bytes;
  });
  plan->arena_bytes = place(lives, false, plan);
  if (lives.empty() || plan->buffers[lives[0].buffer].bytes < fewest_in_middle) return;
  // Centred on a larger buffer's memory, its halves lie where the larger one's did, and each thread
  // finds its half in its own cache.
  if (place(lives, true, plan) > plan->arena_bytes) place(lives, false, plan);
}

}  // namespace mt
