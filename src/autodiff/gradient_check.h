// SPDX-License-Identifier: Apache-2.0
// Comparing gradients with difference quotients.
#pragma once

#include <functional>
#include <vector>

#include "graph/node.h"

namespace mt {

using TensorFunction = std::function<Tensor(const std::vector<Tensor>&)>;

struct GradientCheck {
  double step, relative, absolute;
  int order;  // 2: the gradient's gradient as well
};

// Compares with (f(x + h) - f(x - h)) / 2h in float64, for each element of each input; throws at
// the first difference, naming it. A result of several elements is summed with fixed weights.
void check_gradient(const TensorFunction& function, const std::vector<Tensor>& inputs,
                    const GradientCheck& check);

}  // namespace mt
