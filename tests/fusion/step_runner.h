// SPDX-License-Identifier: Apache-2.0
// What each step of a random program does, on whatever operands it is given.
#pragma once

#include <vector>

#include "fusion/run_graph.h"

namespace mt::testing {

class StepRunner {
 public:
  StepRunner(const Graph& graph, Slots* slots, Device& device)
      : graph_(graph), slots_(slots), device_(device) {}

  std::vector<Tensor> values;  // of the sources and of all steps so far

  Tensor apply(const Step& step);

 private:
  uint64_t take(uint64_t count) {
    uint64_t result = choice_ % count;
    choice_ /= count;
    return result;
  }

  // The latest value at or before `from` that f accepts; x if none does.
  template <class F>
  Tensor find(int from, const Tensor& x, F&& f) {
    for (int i = from; i >= 0; --i) {
      const Tensor& value = values[static_cast<size_t>(i)];
      if (value && f(value)) return value;
    }
    return x;
  }

  bool tame() const { return graph_.family == Family::tame; }
  Tensor settled(const Tensor& y, int64_t n);
  Dims some_axes(const Tensor& x);
  Tensor attempt(const Step& step, const Tensor& x);
  Tensor reshaped(const Tensor& x);

  const Graph& graph_;
  Slots* slots_;
  Device& device_;
  uint64_t choice_ = 0;
};

}  // namespace mt::testing
