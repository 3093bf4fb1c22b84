// SPDX-License-Identifier: Apache-2.0
// Operators that compute what an element-wise one does, but whose gradient is another: parts of a
// formula that is derived as a whole. A gradient is made of ordinary operators, and so has
// gradients.
#pragma once

#include "graph/op.h"
#include "ops/elementwise.h"

namespace mt {

constexpr Op with_own_gradient(const char* name, Elementwise code,
                               void (*gradient)(const Node&, const Tensor&, Tensor*)) {
  return {.name = name,
          .kind = OpKind::elementwise,
          .code = static_cast<uint8_t>(code),
          .gradient = gradient};
}

}  // namespace mt
