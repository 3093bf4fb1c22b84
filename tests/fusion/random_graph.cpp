// SPDX-License-Identifier: Apache-2.0
#include "fusion/random_graph.h"

#include <algorithm>
#include <iterator>
#include <random>

namespace mt::testing {
namespace {

const char* const names[] = {
    "unary",   "unary",    "unary",  "binary",   "binary",      "binary",  "binary", "scalar",
    "select",  "cast",     "copy",   "reshape",  "permute",     "expand",  "slice",  "flip",
    "squeeze", "window",   "detach", "sum",      "sum",         "extreme", "prod",   "mean",
    "softmax", "normal",   "matmul", "contract", "product_sum", "pad",     "shift",  "shift",
    "fold",    "constant", "iota",   "random",   "slot",        "slot",    "chain"};
static_assert(std::size(names) == code_count);

constexpr Dtype narrow_types[] = {Dtype::boolean,  Dtype::uint8,   Dtype::int8,
                                  Dtype::bfloat16, Dtype::float16, Dtype::int16};

}  // namespace

Graph random_graph(uint64_t seed, bool large) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15u + large);
  auto below = [&](uint64_t n) { return random() % n; };
  Graph graph;
  graph.seed = seed;
  graph.family = below(2) ? Family::tame : Family::wild;

  // Sizes are drawn once for the graph, so that shapes meet.
  static constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 33, 64};
  Shape full;
  uint64_t kind = below(40);
  if (large) {
    static const Shape shapes[] = {{40000},    {300, 300},   {3, 20000},   {20000, 5},
                                   {70000, 2}, {17, 40, 60}, {2, 33, 1000}};
    full = shapes[below(std::size(shapes))];
  } else if (kind < 3) {
    static const Shape shapes[] = {{16385},   {2, 17000}, {17000, 2},
                                   {3000, 3}, {40000},    {5, 2000, 2}};
    full = shapes[below(std::size(shapes))];
  } else {
    for (uint64_t i = 0, rank = below(5); i < rank; ++i)
      full.push_back(sizes[below(std::size(sizes))]);
    if (kind == 3 && full.rank())
      full[static_cast<int>(below(static_cast<uint64_t>(full.rank())))] = 0;
    while (element_count(full) > 20000) full.erase(0);
  }
  const bool narrow = below(4) == 0;  // mostly types of one and two bytes
  for (uint64_t i = 0, count = 1 + below(4); i < count; ++i) {
    Source source;
    source.shape = full;
    if (i > 0 && below(2)) {
      for (uint64_t lost = below(static_cast<uint64_t>(full.rank()) + 1); lost > 0; --lost)
        source.shape.erase(0);
      for (int d = 0; d < source.shape.rank(); ++d) {
        if (below(3) == 0) source.shape[d] = 1;
      }
    }
    source.dtype = Dtype::float32;
    if (below(3) == 0) source.dtype = static_cast<Dtype>(below(dtype_count));
    if (narrow && below(5)) source.dtype = narrow_types[below(std::size(narrow_types))];
    source.seed = random();
    source.differentiable = is_floating(source.dtype) && below(2);
    graph.sources.push_back(source);
  }
  uint64_t count = 1 + below(below(4) ? 12 : 40);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t known = graph.sources.size() + i;
    // Mostly recent values, so that chains grow.
    auto operand = [&] {
      return static_cast<int>(below(3) ? known - 1 - below(std::min<uint64_t>(known, 4))
                                       : below(known));
    };
    Step step;
    step.code = static_cast<int>(below(code_count));
    step.a = operand();
    step.b = operand();
    step.c = operand();
    step.choice = random();
    step.held = below(6) == 0;
    step.flushes = below(20) == 0;
    step.reads = below(20) == 0;
    graph.steps.push_back(step);
  }
  graph.order = static_cast<int>(below(3));
  graph.through_backward = below(2);
  return graph;
}

std::string to_string(const Graph& graph) {
  std::string text = graph.family == Family::tame ? "tame" : "wild";
  text += ", derivatives " + std::to_string(graph.order) +
          (graph.through_backward ? " by backward" : "") + "\n";
  int value = 0;
  for (const Source& source : graph.sources) {
    text += "  %" + std::to_string(value++) + " = " + name_of(source.dtype) +
            mt::to_string(source.shape) + (source.differentiable ? " differentiable" : "") + "\n";
  }
  for (const Step& step : graph.steps) {
    text += "  %" + std::to_string(value++) + " = " + names[step.code] + " %" +
            std::to_string(step.a) + " %" + std::to_string(step.b) + " %" + std::to_string(step.c) +
            " " + std::to_string(step.choice) + (step.held ? " held" : "") +
            (step.flushes ? " flush" : "") + (step.reads ? " read" : "") + "\n";
  }
  return text;
}

}  // namespace mt::testing
