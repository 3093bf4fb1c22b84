// SPDX-License-Identifier: Apache-2.0
// Runs a random program in every way the library has.
#pragma once

#include <vector>

#include "fusion/random_graph.h"
#include "graph/node.h"
#include "graph/variable.h"

namespace mt::testing {

constexpr int slot_count = 3;
struct Slots {
  StateSlot slot[slot_count];
  // Of the leaves of all runs. A later run reaches them through the slots, and leaves gradients in
  // them whose histories lead back to them.
  std::vector<Ref<Variable>> variables;

  ~Slots() {
    for (Ref<Variable>& variable : variables) variable->abandon();
  }
};

// A source's values; `round` gives other ones.
Tensor source_value(const Graph& graph, const Source& source, uint64_t round, Device& device);

// Runs the program on its sources' values and returns its results, not yet computed.
// `quiet`: without evaluations on the way.
std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& sources, Slots* slots,
                        bool quiet);

}  // namespace mt::testing
