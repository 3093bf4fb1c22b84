// SPDX-License-Identifier: Apache-2.0
// Long short-term memory (Hochreiter and Schmidhuber, 1997; Gers et al., 2000, who forget):
//   i, f, o = sigmoid(..), g = tanh(..) of gates_t + weight h_(t-1)
//   c_t = f c_(t-1) + i g,  h_t = o tanh(c_t)
#include "ops/lstm.h"

#include <vector>

#include "graph/modes.h"
#include "graph/record.h"
#include "ops/ops.h"

namespace mt {
namespace {

// Both have no naive value: what they compute is what recurrent() records position by position
// where a backend has no kernel of theirs.
const Op lstm_gradient_op{.name = "lstm_gradient", .kind = OpKind::call};

// Elements [first, first + size of shape) of a row.
Tensor part(const Tensor& row, int64_t first, const Shape& shape) {
  return reshape(slice(row, 0, first, element_count(shape), 1), shape);
}

struct Arrived {
  Tensor gates, state, cell;
};

// The same as the operator, position by position: what can be differentiated again.
Arrived gradient_by_positions(const Tensor& sums, const Tensor& weight, const Tensor& cell,
                              const Tensor& dy, const Tensor& dcell) {
  const int64_t n = sums.shape()[1], hidden = weight.shape()[1];
  const auto gate = [&](int64_t t, int which) {
    return slice(select(sums, 1, t), 1, which * hidden, hidden, 1);
  };
  std::vector<Tensor> cells{cell}, at_gates(n);
  for (int64_t t = 0; t < n; ++t) {
    cells.push_back(sigmoid(gate(t, 1)) * cells.back() + sigmoid(gate(t, 0)) * tanh(gate(t, 2)));
  }
  Tensor dh = zeros_like(cell), dc = dcell;
  for (int64_t t = n; t-- > 0;) {
    const Tensor i = sigmoid(gate(t, 0)), f = sigmoid(gate(t, 1));
    const Tensor g = tanh(gate(t, 2)), o = sigmoid(gate(t, 3)), y = tanh(cells[t + 1]);
    dh = dh + select(dy, 1, t);
    dc = dc + dh * o * (1.0 - square(y));
    at_gates[t] = concat({dc * g * i * (1.0 - i), dc * cells[t] * f * (1.0 - f),
                          dc * i * (1.0 - square(g)), dh * y * o * (1.0 - o)},
                         1);
    dc = dc * f;
    dh = matmul(at_gates[t], weight);
  }
  return {stack(at_gates, 1), dh, dc};
}

Arrived gradient_at_once(const Tensor& sums, const Tensor& weight, const Tensor& cell,
                         const Tensor& dy, const Tensor& dcell) {
  const int64_t all = sums.size(), count = cell.size();
  const Tensor row =
      record(lstm_gradient_op, sums.dtype(), {all + 2 * count}, {sums, weight, cell, dy, dcell});
  return {part(row, 0, sums.shape()), part(row, all, cell.shape()),
          part(row, all + count, cell.shape())};
}

void lstm_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  const Tensor &gates = node.inputs[0], &weight = node.inputs[1], &state = node.inputs[2];
  const int64_t batch = gates.shape()[0], n = gates.shape()[1], hidden = weight.shape()[1];
  const Shape states{batch, n, hidden};
  const Tensor h = part(Tensor(const_cast<Node*>(&node)), 0, states);
  const Tensor before = concat({unsqueeze(state, 1), slice(h, 1, 0, n - 1, 1)}, 1);
  const Tensor sums = gates + linear(before, weight, nullptr);
  const Tensor dy = part(arrived, 0, states), dcell = part(arrived, h.size(), state.shape());
  auto* make = gradient_mode() ? gradient_by_positions : gradient_at_once;
  const Arrived at = make(sums, weight, node.inputs[3], dy, dcell);
  gradients[0] = at.gates;
  const Shape rows{batch * n, hidden};
  gradients[1] =
      matmul(transpose(reshape(at.gates, {batch * n, 4 * hidden})), reshape(before, rows));
  gradients[2] = at.state;
  gradients[3] = at.cell;
}
const Op lstm_op{.name = "lstm", .kind = OpKind::call, .gradient = lstm_gradient};

}  // namespace

LstmStates lstm_states(const Tensor& gates, const Tensor& weight, const Tensor& state,
                       const Tensor& cell) {
  const int64_t batch = gates.shape()[0], n = gates.shape()[1], hidden = weight.shape()[1];
  const Tensor row =
      record(lstm_op, gates.dtype(), {batch * (n + 1) * hidden}, {gates, weight, state, cell});
  return {part(row, 0, {batch, n, hidden}), part(row, batch * n * hidden, {batch, hidden})};
}

}  // namespace mt
