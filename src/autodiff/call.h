// SPDX-License-Identifier: Apache-2.0
// Calls: operators with several results, whose gradient needs the gradients of all of them. The
// call is a node without elements, which has the operator's inputs; each result is a node that
// reads it. Custom operators and checkpoints are calls.
#pragma once

#include <memory>
#include <vector>

#include "graph/node.h"

namespace mt {

// What a call's node carries, as the storage of its empty value.
class Call {
 public:
  virtual ~Call() = default;
  // The gradients of the call's inputs, null for none, given the results and their gradients. Both
  // are null for a result that no gradient has reached.
  virtual std::vector<Tensor> gradient(const Node& call, const std::vector<Tensor>& results,
                                       const std::vector<Tensor>& gradients) = 0;
  // Repeats the call on other inputs; returns the new call's node.
  virtual Tensor again(const Node& call, const std::vector<Tensor>& inputs) = 0;
  virtual const std::vector<Tensor>& values() const = 0;  // of the results, without history
};

// Records a call and returns its node; `name` is the operator's.
Tensor record_call(const char* name, std::unique_ptr<Call> call, Inputs inputs, Device& device);
// A result as a node: the value with the call's history. `is_recorded`: the operators that made the
// value are part of the graph, so a tape shows those.
Tensor call_result(const Tensor& call, const Tensor& value, size_t index, bool is_recorded);

}  // namespace mt
