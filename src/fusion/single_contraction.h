// SPDX-License-Identifier: Apache-2.0
// For programs that look at each of their products: contractions are evaluated one at a time, and
// everything else stays pending. Their plans are found by the operator and the operands' layouts
// alone, without asking what else might be stored, fused or donated.
#pragma once

#include <array>
#include <memory>

#include "plan/plan.h"

namespace mt {

// Whether the node is a contraction that can be evaluated this way.
bool is_single_contraction(const Node& node);

// The key of such a plan.
class ContractionKey {
 public:
  ContractionKey() = default;  // no contraction's
  explicit ContractionKey(const Node& node);
  bool is_of(const Node& node) const;

 private:
  struct Operand {
    Operand() = default;
    Operand(const Tensor& x) : dtype(x.dtype()), shape(x.shape()), strides(x->strides) {}
    bool is(const Tensor& x) const {
      return dtype == x.dtype() && shape == x.shape() && strides == x->strides;
    }

    Dtype dtype;
    Shape shape;
    Strides strides;
  };

  const Op* op_ = nullptr;
  const Device* device_ = nullptr;
  uint64_t configuration_;  // of the device's backend
  Dtype dtype_;
  Attributes attributes_;
  Operand operands_[2];
};

// The thread's latest plans, a few of them. All nodes passed in must be such contractions.
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
