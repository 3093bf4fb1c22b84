// SPDX-License-Identifier: Apache-2.0
// Leaves whose gradients are wanted.
#pragma once

#include "graph/evaluate.h"
#include "graph/variable.h"
#include "ops/ops.h"

namespace mt::testing {

// Marks a leaf.
inline void require_gradient(const Tensor& leaf) {
  leaf->requires_gradient = true;
  leaf->variable = Ref<Variable>(new Variable);
}
// The same value as a leaf that is marked.
inline Tensor leaf(const Tensor& x) {
  Tensor result = detach(x);
  evaluate(result);
  require_gradient(result);
  return result;
}

}  // namespace mt::testing
