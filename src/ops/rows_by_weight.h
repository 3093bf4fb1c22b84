// SPDX-License-Identifier: Apache-2.0
// Products of a few rows with one weight, as each position of a recurrent network makes of its own
// (ops/contract.cpp): the gradients of the weight are one product of all rows.
#pragma once

#include <vector>

#include "graph/node.h"

namespace mt {

// Whether the node is the product of [m, k] and a weight [n, k] that requires a gradient, of so few
// rows that putting them side by side costs less than adding up weights.
bool is_rows_by_weight(const Node& node);
// The gradient of its rows; nothing where they require none.
Tensor gradient_of_rows(const Node& node, const Tensor& dy);
// The gradient of the weight from several products like `node`: their rows, and what arrives.
Tensor gradient_of_weight(const Node& node, const std::vector<Tensor>& rows,
                          const std::vector<Tensor>& dys);

}  // namespace mt
