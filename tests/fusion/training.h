// SPDX-License-Identifier: Apache-2.0
// A small network and its training step, with all state in slots, as the optimizers keep it.
#pragma once

#include "autodiff/backward.h"
#include "fusion/support.h"
#include "graph/modes.h"

namespace mt::testing {

struct Network {
  StateSlot weight[4], momentum[4];
  Tensor x, y;

  Network(int64_t batch, int64_t inputs, int64_t hidden, uint64_t seed = 1) {
    Shape shapes[4] = {{inputs, hidden}, {hidden}, {hidden, 10}, {10}};
    for (int i = 0; i < 4; ++i) {
      Tensor w = random_leaf(shapes[i], seed + static_cast<uint64_t>(i)) * 0.1;
      evaluate(w);
      set(i, w, Ref<Variable>(new Variable));
      Tensor zero = zeros_like(w);
      evaluate(zero);
      momentum[i].set(zero);
    }
    x = random_leaf({batch, inputs}, seed + 10);
    y = random_leaf({batch, 10}, seed + 11);
  }

  void set(int i, Tensor value, const Ref<Variable>& variable) {
    value->variable = variable;
    value->requires_gradient = true;
    weight[i].set(value);
  }

  Tensor loss() {
    Tensor hidden = relu(matmul(x, weight[0].get()) + weight[1].get());
    Tensor out = matmul(hidden, weight[2].get()) + weight[3].get();
    Tensor e = exp(out - max(out, {-1}, true));
    return mean(square(e / sum(e, {-1}, true) - y));
  }

  // Records a step; returns its loss.
  Tensor step() {
    for (StateSlot& slot : weight) slot.get()->variable->gradient.set(nullptr);
    Tensor result = loss();
    backward(result, nullptr, false);
    GradientMode none(false);
    Tensor moved[4], velocity[4];
    for (int i = 0; i < 4; ++i) {
      Tensor w = weight[i].get();
      velocity[i] = momentum[i].get() * 0.9 + w->variable->gradient.get();
      moved[i] = w - velocity[i] * 0.05;
    }
    for (int i = 0; i < 4; ++i) {
      Ref<Variable> variable = weight[i].get()->variable;
      momentum[i].set(velocity[i]);
      set(i, moved[i], variable);
    }
    return result;
  }

  std::vector<Tensor> state() {
    std::vector<Tensor> all;
    for (int i = 0; i < 4; ++i) {
      all.push_back(weight[i].get());
      all.push_back(momentum[i].get());
    }
    return all;
  }
  int64_t bytes() {
    int64_t total = 0;
    for (StateSlot& slot : weight) total += slot.get()->bytes();
    return total;
  }
};

}  // namespace mt::testing
