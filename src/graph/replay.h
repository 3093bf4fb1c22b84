// SPDX-License-Identifier: Apache-2.0
// Recording operators again on other values.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/node.h"

namespace mt {

// Records the operator of `node` on other inputs of the same shapes and dtypes.
Tensor record_again(const Node& node, const Inputs& inputs);

using Replacements = std::unordered_map<const Node*, Tensor>;

// Records again those of `nodes` (in recorded order) that depend on a replaced node, or all of
// them, and adds the new ones to `replacements`.
void replay(const std::vector<Tensor>& nodes, Replacements* replacements, bool all = false);

// A copy of the nodes without values, which keeps just what is needed to record all of them again;
// tensors made elsewhere are kept as they are.
std::vector<Tensor> without_values(const std::vector<Tensor>& nodes);

}  // namespace mt
