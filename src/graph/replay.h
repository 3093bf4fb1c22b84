// SPDX-License-Identifier: Apache-2.0
// Recording what was recorded before once more, on other values.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/node.h"

namespace mt {

// Records the operator of `node` on other inputs of the same shapes and dtypes.
Tensor record_again(const Node& node, const Inputs& inputs);

using Replacements = std::unordered_map<const Node*, Tensor>;

// Records again those of `nodes`, which are in recorded order, that depend on a replaced one, or
// all of them, and adds them to `replacements`.
void replay(const std::vector<Tensor>& nodes, Replacements* replacements, bool all = false);

// The same nodes as a graph without values: it keeps what is needed to record all of them again,
// and of the tensors made elsewhere everything.
std::vector<Tensor> without_values(const std::vector<Tensor>& nodes);

}  // namespace mt
