// SPDX-License-Identifier: Apache-2.0
// Weights that many small products of a history share: their gradient is one product of all the
// rows and gradients, instead of a sum of weight-sized gradients. Which weights these are depends
// on the history alone, so that every way of running gives the same bits.
#pragma once

#include <vector>

#include "base/pointer_index.h"
#include "graph/node.h"

namespace mt {

class SharedWeights {
 public:
  explicit SharedWeights(const std::vector<Tensor>& nodes);

  // If `product` has such a weight, keeps dy for gradient_of() and returns true.
  bool take(const Node& product, const Tensor& dy);
  // What the products taken so far contribute to the gradient of `weight`; null if nothing.
  Tensor gradient_of(const Node& weight);

 private:
  struct Weight {
    const Node* product;  // the first
    int count = 0;
    std::vector<Tensor> rows, gradients;
  };
  Weight* find(const Node& weight);

  PointerIndex index_;
  std::vector<Weight> weights_;
  bool any_ = false;
};

}  // namespace mt
