// SPDX-License-Identifier: Apache-2.0
// All positions of an LSTM as one operator, and its gradient as another: what is recorded of a
// sequence does not grow with its length.
#pragma once

#include "graph/node.h"

namespace mt {

// gates: what the inputs give to the gates input, forget, cell and output, [batch, n, 4 hidden],
// n > 0; weight: [4 hidden, hidden]; state and cell at first: [batch, hidden]. All of float32, and
// on a device that has a kernel of it (Device::fuses, host memory).
struct LstmStates {
  Tensor states, cell;  // [batch, n, hidden], and the last one, [batch, hidden]
};
LstmStates lstm_states(const Tensor& gates, const Tensor& weight, const Tensor& state,
                       const Tensor& cell);

}  // namespace mt
