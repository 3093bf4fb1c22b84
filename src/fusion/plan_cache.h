// SPDX-License-Identifier: Apache-2.0
// A cache of plans by the structure of their regions. Keys are always compared in full.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "plan/plan.h"

namespace mt {

class PlanCache {
 public:
  static PlanCache& instance();

  std::shared_ptr<const Plan> find(const std::vector<uint64_t>& key);
  void insert(const std::vector<uint64_t>& key, std::shared_ptr<const Plan> plan);
  void clear();

 private:
  struct Entry {
    std::vector<uint64_t> key;
    uint64_t hash;
    int64_t bytes;
    std::shared_ptr<const Plan> plan;
  };
  using Position = std::list<Entry>::iterator;

  Position locate(const std::vector<uint64_t>& key, uint64_t hash);

  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_multimap<uint64_t, Position> index_;
  int64_t bytes_ = 0;
};

}  // namespace mt
