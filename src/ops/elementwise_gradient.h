// SPDX-License-Identifier: Apache-2.0
// The gradients in the table of element-wise operators.
#pragma once

#include "graph/node.h"

namespace mt {

// Op::gradient of every row that has one.
void elementwise_gradient(const Node& node, const Tensor& dy, Tensor* gradients);

// Whether the table says NONE.
constexpr bool is_none(const char* text) {
  return text[0] == 'N' && text[1] == 'O' && text[2] == 'N' && text[3] == 'E' && text[4] == 0;
}

}  // namespace mt
