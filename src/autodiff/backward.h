// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation: walks the recorded graph from results to inputs, asking each
// operator for its gradient. Gradients are recorded as ordinary operators, so they fuse with
// everything else and can be differentiated again.
#pragma once

#include <vector>

#include "graph/node.h"

namespace mt {

// The gradients of sum(outputs[i] * seeds[i]) with respect to `inputs`; an entry is null if no path
// leads to that input. A null seed means 1, for an output of one element. Accumulates nothing and
// forgets no history.
std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& seeds,
                              const std::vector<Tensor>& inputs);

// Adds the gradients of sum(output * seed) to the gradient of every leaf that requires one. Then
// forgets the history of `output`, unless `retain` or `differentiable` is set; `differentiable`
// also gives the gradients a history of their own.
void backward(const Tensor& output, const Tensor& seed, bool retain, bool differentiable = false);

// For operators with several results (autodiff/call.h): the results of `call` that gradients have
// reached so far, and these gradients, in the calling thread's innermost walk.
struct CallGradients {
  std::vector<Tensor> results, gradients;
};
CallGradients& gradients_of_call(const Node* call);

}  // namespace mt
