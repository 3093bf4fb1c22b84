// SPDX-License-Identifier: Apache-2.0
// Plans of single contractions, evaluated while nothing else is pending, as programs do that look
// at each product: found by the operator and its operands' layouts alone, without asking what
// might be stored, join or be taken over.
#pragma once

#include <array>
#include <memory>

#include "plan/plan.h"

namespace mt {

// What tells one such plan from another. Not every contraction has a key.
class LoneKey {
 public:
  bool write(const Node& node);
  bool operator==(const LoneKey& other) const;

 private:
  static constexpr size_t most_words = 40;
  size_t count_ = 0;
  uint64_t words_[most_words];
};

// A thread's few latest.
class LonePlans {
 public:
  static LonePlans& of_thread();

  const Plan* find(const LoneKey& key) const;
  void insert(const LoneKey& key, std::shared_ptr<const Plan> plan);

 private:
  struct Entry {
    LoneKey key;
    std::shared_ptr<const Plan> plan;
  };
  std::array<Entry, 8> entries_;
  size_t next_ = 0;
};

}  // namespace mt
