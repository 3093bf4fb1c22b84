// SPDX-License-Identifier: Apache-2.0
// Operators that bring their own gradient.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/node.h"

namespace mt {

class CustomOperator {
 public:
  explicit CustomOperator(std::string name) : name(std::move(name)) {}
  virtual ~CustomOperator() = default;
  const std::string name;

  virtual std::vector<Tensor> forward(const std::vector<Tensor>& inputs) = 0;
  // One gradient for each input, null for none.
  virtual std::vector<Tensor> backward(const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& results,
                                       const std::vector<Tensor>& result_gradients) = 0;
};

// Evaluates the inputs, runs forward without history or tapes, and gives its results a history with
// gradient `backward`. Inside a trace, evaluates nothing; what forward records is part of it.
std::vector<Tensor> apply_custom(const std::shared_ptr<CustomOperator>& operation,
                                 const std::vector<Tensor>& inputs);

}  // namespace mt
