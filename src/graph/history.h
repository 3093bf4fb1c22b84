// SPDX-License-Identifier: Apache-2.0
// Histories: the parts of the graph that gradients follow. Several threads may walk one at once
// while others forget it, so a walk keeps the inputs of its nodes, and the last user releases them.
#pragma once

#include <vector>

#include "base/pointer_index.h"
#include "graph/node.h"

namespace mt {

// The nodes that some outputs depend on and that require a gradient, inputs before consumers. They
// stay as they are during the object's lifetime, even if they are forgotten meanwhile.
class History {
 public:
  explicit History(const std::vector<Tensor>& outputs);
  ~History();
  History(const History&) = delete;

  const std::vector<Tensor>& nodes() const { return nodes_; }
  // The node's index in nodes(); -1 if it is not one of them.
  int64_t position(const Node* node) const { return positions_.find(node); }
  // From now on no walk may begin here; what only gradients need is released after the last walk.
  void forget();

 private:
  std::vector<Tensor> nodes_;
  PointerIndex positions_;
};

// To be called when a tape that showed a node with its inputs is gone.
void release_from_tape(Node& node);

// A node's inputs, even if another thread is evaluating or walking it; empty if they have been
// released.
Inputs inputs_of(const Tensor& tensor);

// For error messages: an operator behind `output`, its inputs not yet released, at which the path
// of a gradient ends; no operator if none is found.
struct HistoryEnd {
  const Op* op = nullptr;
  bool unrecorded = false;  // the operator has a gradient, but recording was off
};
HistoryEnd end_of_history(const Tensor& output);

}  // namespace mt
