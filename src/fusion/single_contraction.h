// SPDX-License-Identifier: Apache-2.0
// A program that looks at each of its products evaluates contractions one at a time, and what else
// is pending stays so. Their plans are found by the operator and its operands' layouts alone,
// without asking what else might be stored, fused or donated.
#pragma once

#include <array>
#include <memory>

#include "plan/plan.h"

namespace mt {

// Whether the node is a contraction that can be evaluated so.
bool is_single_contraction(const Node& node);

// What tells one such plan from another.
class ContractionKey {
 public:
  ContractionKey() = default;  // no contraction's
  explicit ContractionKey(const Node& node);
  // Whether it is the node's; nothing is written for one that is not.
  bool is_of(const Node& node) const;

 private:
  static constexpr size_t most_words = 40;
  bool complete_ = false;  // all words had room
  int64_t words_[most_words];
};

// A thread's latest plans; it keeps a few. All nodes are such contractions.
class ContractionPlans {
 public:
  static ContractionPlans& of_thread();

  const Plan* find(const Node& node) const;
  void insert(const ContractionKey& key, std::shared_ptr<const Plan> plan);

 private:
  struct Entry {
    ContractionKey key;
    std::shared_ptr<const Plan> plan;
  };
  std::array<Entry, 8> entries_;
  size_t next_ = 0;
};

// Computes the contraction `node` by its plan. The caller holds the window's lock.
void run_single_contraction(Window& window, Node* node, const Plan& plan);

}  // namespace mt
