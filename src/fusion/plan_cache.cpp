// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan_cache.h"

namespace mt {
namespace {

constexpr int64_t byte_cap = int64_t{64} << 20;

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

// In four independent chains, since each step waits for the one before it.
uint64_t hash_of(const std::vector<uint64_t>& key) {
  uint64_t chains[4] = {key.size(), 1, 2, 3};
  size_t i = 0;
  for (; i + 4 <= key.size(); i += 4) {
    for (size_t c = 0; c < 4; ++c) chains[c] = mixed(chains[c], key[i + c]);
  }
  for (; i < key.size(); ++i) chains[i % 4] = mixed(chains[i % 4], key[i]);
  return mixed(mixed(chains[0], chains[1]), mixed(chains[2], chains[3]));
}

int64_t size_of_plan(const Plan& plan) {
  size_t bytes = sizeof(Plan) + plan.buffers.size() * sizeof(Buffer);
  for (const Group& group : plan.groups) {
    bytes += sizeof(Group) + group.items.size() * sizeof(int);
    if (auto* call = std::get_if<CallGroup>(&group.work)) {
      bytes += call->inputs.size() * sizeof(Operand);
    }
    const FusedProgram* fused = fused_program(group);
    if (!fused) continue;
    bytes += fused->program.instructions.size() * sizeof(Instruction);
    for (const Segment& segment : fused->segments) {
      bytes += sizeof(Segment) + segment.memory.size() * sizeof(Memory) +
               segment.margins.size() * sizeof(Margins);
    }
  }
  return static_cast<int64_t>(bytes) + plan.prepared_bytes;
}

}  // namespace

PlanCache& PlanCache::instance() {
  static PlanCache* cache = new PlanCache;  // never destroyed: threads may evaluate until the end
  return *cache;
}

PlanCache::Position PlanCache::locate(const std::vector<uint64_t>& key, uint64_t hash) {
  auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (entries_[it->second].key == key) return it;
  }
  return index_.end();
}

PlanCache::Position PlanCache::position_of(size_t entry) {
  Position at = index_.find(entries_[entry].hash);
  while (at->second != entry) ++at;
  return at;
}

std::shared_ptr<const Plan> PlanCache::find(const std::vector<uint64_t>& key) {
  std::lock_guard lock(mutex_);
  // Most often the plan that ran last, which takes no hash to find.
  const bool again = !entries_.empty() && entries_[last_].key == key;
  if (!again) {
    const Position found = locate(key, hash_of(key));
    if (found == index_.end()) return nullptr;
    last_ = found->second;
  }
  return entries_[last_].plan;
}

void PlanCache::insert(const std::vector<uint64_t>& key, std::shared_ptr<const Plan> plan) {
  uint64_t hash = hash_of(key);
  std::lock_guard lock(mutex_);
  if (locate(key, hash) != index_.end()) return;  // another thread was faster
  int64_t bytes = static_cast<int64_t>(key.size() * sizeof(uint64_t)) + size_of_plan(*plan);
  entries_.push_back({key, hash, bytes, std::move(plan)});
  try {
    index_.emplace(hash, entries_.size() - 1);
  } catch (...) {
    entries_.pop_back();
    throw;
  }
  last_ = entries_.size() - 1;
  bytes_ += bytes;
  while (bytes_ > byte_cap && entries_.size() > 1) drop_any_but_last();
}

// Any, not the one used longest ago: of steps that together need a little more than there is room
// for, one after another, that would be the next to be used, and none would ever be found.
void PlanCache::drop_any_but_last() {
  random_ = mixed(random_, entries_.size());
  size_t dropped = random_ % (entries_.size() - 1);
  if (dropped >= last_) ++dropped;
  const size_t moved = entries_.size() - 1;
  bytes_ -= entries_[dropped].bytes;
  index_.erase(position_of(dropped));
  if (dropped != moved) {
    position_of(moved)->second = dropped;
    entries_[dropped] = std::move(entries_[moved]);
    if (last_ == moved) last_ = dropped;
  }
  entries_.pop_back();
}

void PlanCache::clear() {
  std::lock_guard lock(mutex_);
  entries_.clear();
  index_.clear();
  bytes_ = 0;
  last_ = 0;
}

}  // namespace mt
