// SPDX-License-Identifier: Apache-2.0
// A cache of plans by the structure of their regions. Keys are always compared in full.
#pragma once

#include <cstdint>
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
  using Position = std::unordered_multimap<uint64_t, size_t>::iterator;  // in index_

  Position locate(const std::vector<uint64_t>& key, uint64_t hash);
  Position position_of(size_t entry);
  void drop_any_but_last();

  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::unordered_multimap<uint64_t, size_t> index_;  // of entries, by hash
  size_t last_ = 0;                                  // the entry found or added last
  int64_t bytes_ = 0;
  uint64_t random_ = 1;
};

}  // namespace mt
