// SPDX-License-Identifier: Apache-2.0
// Histories: what gradients are found along. Several threads may walk one at once while others
// forget it, so a walk holds on to the inputs of its nodes, and the last one to need them lets go.
#pragma once

#include <vector>

#include "base/pointer_index.h"
#include "graph/node.h"

namespace mt {

// The nodes between some outputs and what requires a gradient, inputs before consumers. For the
// object's life they stay as they are, whoever forgets them.
class History {
 public:
  explicit History(const std::vector<Tensor>& outputs);
  ~History();
  History(const History&) = delete;

  const std::vector<Tensor>& nodes() const { return nodes_; }
  // Where a node stands among them; -1 if it does not.
  int64_t position(const Node* node) const { return positions_.find(node); }
  // From now on no other walk may begin here, and what only gradients need goes when this ends.
  void forget();

 private:
  std::vector<Tensor> nodes_;
  PointerIndex positions_;
};

// A tape that showed a node with its inputs is gone.
void release_from_tape(Node& node);

// What a node was computed from, whichever thread evaluates or walks it at this moment; nothing
// where that has been let go of.
Inputs inputs_of(const Tensor& tensor);

// Among the pending operators that `output` came from, one at which what a gradient would go along
// ends; no operator when there is none, or when it has been computed and forgotten.
struct HistoryEnd {
  const Op* op = nullptr;
  bool unrecorded = false;  // it has a gradient, which was not to be recorded
};
HistoryEnd end_of_history(const Tensor& output);

}  // namespace mt
