// SPDX-License-Identifier: Apache-2.0
// Weights that many small products of a history share: what these contribute to the gradient is put
// side by side and made one product, rather than added up as weights. Which they are depends on the
// history alone, so that every way of running gives the same bits.
#pragma once

#include <vector>

#include "base/pointer_index.h"
#include "graph/node.h"

namespace mt {

class SharedWeights {
 public:
  explicit SharedWeights(const std::vector<Tensor>& nodes);

  // Takes what arrives at a product of such a weight, whose gradient then leaves that out.
  bool take(const Node& product, const Tensor& dy);
  // What its products contribute to the gradient of a weight; nothing for other values.
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
