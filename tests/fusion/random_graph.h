// SPDX-License-Identifier: Apache-2.0
// Random programs over tensors, as plain data: they can be run in every way the library has, and
// made smaller when one of them shows a fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace mt::testing {

enum class Family {
  tame,  // smooth functions of moderate numbers: comparable with the reference
  wild,  // every operator, type and special value: comparable only bit for bit
};

// What a step is. The more often something stands here, the more often it is drawn.
enum StepCode {
  unary_step,
  unary_step_,
  unary_step__,
  binary_step,
  binary_step_,
  binary_step__,
  binary_step___,
  scalar_step,
  select_step,
  cast_step,
  copy_step,
  reshape_step,
  permute_step,
  expand_step,
  slice_step,
  flip_step,
  squeeze_step,
  window_step,
  detach_step,
  sum_step,
  sum_step_,
  extreme_step,
  prod_step,
  mean_step,
  softmax_step,
  normal_step,
  matmul_step,
  contract_step,
  product_sum_step,
  embed_step,
  shift_step,
  shift_step_,
  fold_step,
  constant_step,
  iota_step,
  random_step,
  slot_step,
  slot_step_,
  chain_step,
  code_count,
};

// Every step is legal on any operands: where its operator does not fit them, its value is that of
// its first operand. So dropping a step leaves a program.
struct Step {
  int code = 0;
  int a = 0, b = 0, c = 0;  // earlier values
  uint64_t choice = 0;      // what else there is to decide
  bool held = false;        // its handle lives to the end; otherwise to its last use
  bool flushes = false;     // everything pending is evaluated afterwards
  bool reads = false;       // this value is
};

struct Source {
  Shape shape;
  Dtype dtype;
  uint64_t seed;
  bool differentiable;
};

struct Graph {
  Family family = Family::tame;
  uint64_t seed = 0;
  std::vector<Source> sources;    // values 0, 1, ...
  std::vector<Step> steps;        // the values after those
  int order = 0;                  // of the derivatives taken at the end: 0, 1 or 2
  bool through_backward = false;  // the first ones by backward() rather than gradients()
};

// large: sizes that are shared out among threads.
Graph random_graph(uint64_t seed, bool large = false);
std::string to_string(const Graph& graph);

// The smallest program found by dropping steps and sizes that still fails.
template <class Fails>
Graph shrink(Graph graph, Fails&& fails) {
  for (int pass = 0; pass < 4; ++pass) {
    bool smaller = false;
    auto attempt = [&](const Graph& changed) {
      if (!fails(changed)) return false;
      graph = changed;
      return smaller = true;
    };
    for (size_t i = graph.steps.size(); i-- > 0;) {
      if (i >= graph.steps.size()) continue;
      Graph changed = graph;
      int dropped = static_cast<int>(graph.sources.size() + i), instead = graph.steps[i].a;
      changed.steps.erase(changed.steps.begin() + static_cast<std::ptrdiff_t>(i));
      for (Step& step : changed.steps) {
        for (int* operand : {&step.a, &step.b, &step.c}) {
          if (*operand == dropped)
            *operand = instead;
          else if (*operand > dropped)
            --*operand;
        }
      }
      attempt(changed);
    }
    for (size_t i = 0; i < graph.steps.size(); ++i) {
      for (bool Step::*flag : {&Step::held, &Step::flushes, &Step::reads}) {
        if (!(graph.steps[i].*flag)) continue;
        Graph changed = graph;
        changed.steps[i].*flag = false;
        attempt(changed);
      }
    }
    for (size_t i = 0; i < graph.sources.size(); ++i) {
      if (!graph.sources[i].differentiable) continue;
      Graph changed = graph;
      changed.sources[i].differentiable = false;
      attempt(changed);
    }
    while (graph.order > 0) {
      Graph changed = graph;
      --changed.order;
      if (!attempt(changed)) break;
    }
    if (!smaller) break;
  }
  return graph;
}

}  // namespace mt::testing
