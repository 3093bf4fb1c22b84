// SPDX-License-Identifier: Apache-2.0
// Values on the host, and how those of two ways of running differ.
#pragma once

#include <string>
#include <vector>

#include "fusion/random_graph.h"
#include "graph/node.h"

namespace mt::testing {

struct Value {
  Shape shape;
  Dtype dtype = Dtype::float32;
  std::vector<char> bytes;  // in row-major order
  bool operator==(const Value&) const = default;
};
Value value_of(const Tensor& tensor);
std::vector<Value> values_of(const std::vector<Tensor>& tensors);

// Empty when equal, NaN like NaN; else where they differ first.
std::string difference(const std::vector<Value>& a, const std::vector<Value>& b);
// Empty when numbers are the same but for their last bits, relative to the largest of a result.
std::string rough_difference(const std::vector<Value>& a, const std::vector<Value>& b);
// The same for results of a graph, within rounding errors.
std::string distance(const Graph& graph, const std::vector<Value>& a, const std::vector<Value>& b);

}  // namespace mt::testing
