// SPDX-License-Identifier: Apache-2.0
// Gradient descent at its plainest, without an optimizer: w becomes w - rate * g.
#pragma once

#include "graph/node.h"

namespace mt {

class PlainStep {
 public:
  explicit PlainStep(double rate) : rate_(rate) {}
  // The new value of `w`. 16-bit floats are updated in float32 and rounded once.
  Tensor updated(const Tensor& w, const Tensor& gradient);

 private:
  double rate_;
  Tensor latest_;  // the rate as a tensor, for the parameters that follow alike
};

}  // namespace mt
