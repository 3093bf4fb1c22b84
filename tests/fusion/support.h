// SPDX-License-Identifier: Apache-2.0
// What the tests of fusion are written with.
#pragma once

#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "graph/evaluate.h"
#include "graph/leaf.h"
#include "ops/ops.h"

namespace mt::testing {

inline Tensor random_leaf(const Shape& shape, uint64_t seed = 1) {
  Graph graph;
  return source_value(graph, {shape, Dtype::float32, seed, false}, 0, find_device("cpu"));
}

inline Tensor parameter(const Shape& shape, uint64_t seed = 1) {
  Tensor leaf = random_leaf(shape, seed);
  require_gradient(leaf);
  return leaf;
}

// Computes all of them in one evaluation.
inline std::vector<Value> evaluated(const std::vector<Tensor>& tensors) {
  evaluate(tensors.data(), tensors.size());
  return values_of(tensors);
}

}  // namespace mt::testing
