// SPDX-License-Identifier: Apache-2.0
// Recurrent networks: the inputs of all positions in one contraction, then position by position.
#include "base/error.h"
#include "ops/lstm.h"
#include "ops/ops.h"

namespace mt {
namespace {

struct Cell {
  const char* name;
  int gates;
};
constexpr Cell cells[] = {{"rnn", 1}, {"gru", 3}, {"lstm", 4}};

void check(const Cell& cell, const Tensor& x, const RecurrentWeights& w) {
  if (x.rank() != 3 || !is_floating(x.dtype())) {
    fail(x.rank() != 3 ? Code::shape : Code::dtype, "%s: x is %s %s: needs floats [batch, n, in]",
         cell.name, name_of(x.dtype()), to_string(x.shape()).c_str());
  }
  int64_t hidden = w.hidden.rank() == 2 ? w.hidden.shape()[1] : 0;
  Shape input{cell.gates * hidden, x.shape()[2]}, state{cell.gates * hidden, hidden};
  if (w.input.shape() != input || w.hidden.shape() != state) {
    fail(Code::shape,
         "%s: weights %s and %s for x %s: must be [%d hidden, in] and [%d hidden, "
         "hidden]",
         cell.name, to_string(w.input.shape()).c_str(), to_string(w.hidden.shape()).c_str(),
         to_string(x.shape()).c_str(), cell.gates, cell.gates);
  }
}

Tensor state_of(const Cell& cell, const Tensor& given, const Shape& shape, const Tensor& x) {
  if (!given) return full(shape, 0, x.dtype(), x.device());
  if (given.shape() == shape) return given;
  fail(Code::shape, "%s: a state of shape %s: must be %s", cell.name,
       to_string(given.shape()).c_str(), to_string(shape).c_str());
}

// Whether an operator of its own goes through all positions (ops/lstm.h). Its threads share the
// rows of the batch; where these are few and the weights large, one position's product occupies
// them.
bool runs_whole(const Tensor& gates, const Tensor& weight, const Tensor& state,
                const Tensor& cell) {
  constexpr int64_t few_rows = 4, large_weights = 1 << 18;
  const Device& device = gates.device();
  for (const Tensor* x : {&gates, &weight, &state, &cell}) {
    if (x->dtype() != Dtype::float32) return false;
  }
  const bool by_rows = gates.shape()[0] > few_rows || weight.size() < large_weights;
  return device.fuses && device.host_memory && gates.size() > 0 && by_rows;
}

}  // namespace

Recurrent recurrent(RecurrentKind kind, const Tensor& x, const Tensor& state, const Tensor& cell,
                    const RecurrentWeights& weights) {
  const Cell& how = cells[static_cast<int>(kind)];
  check(how, x, weights);
  int64_t batch = x.shape()[0], length = x.shape()[1], hidden = weights.hidden.shape()[1];
  Tensor h = state_of(how, state, {batch, hidden}, x);
  Tensor c = kind == RecurrentKind::lstm ? state_of(how, cell, {batch, hidden}, x) : nullptr;
  // One bias for all positions, where nothing comes between the two.
  Tensor input_bias = weights.input_bias, hidden_bias = weights.hidden_bias;
  if (kind != RecurrentKind::gru && hidden_bias) {
    input_bias = input_bias ? input_bias + hidden_bias : hidden_bias;
    hidden_bias = nullptr;
  }
  Tensor inputs = linear(x, weights.input, input_bias);
  if (kind == RecurrentKind::lstm && runs_whole(inputs, weights.hidden, h, c)) {
    const LstmStates all = lstm_states(inputs, weights.hidden, h, c);
    return {all.states, select(all.states, 1, length - 1), all.cell};
  }
  std::vector<Tensor> states;
  for (int64_t t = 0; t < length; ++t) {
    Tensor from_x = select(inputs, 1, t);
    Tensor from_h = linear(h, weights.hidden, hidden_bias);
    auto part = [&](const Tensor& gates, int i) { return slice(gates, 1, i * hidden, hidden, 1); };
    switch (kind) {
      case RecurrentKind::rnn: h = tanh(from_x + from_h); break;
      case RecurrentKind::gru: {  // reset, update, new
        auto gate = [&](int i) { return sigmoid(part(from_x, i) + part(from_h, i)); };
        Tensor fresh = tanh(part(from_x, 2) + gate(0) * part(from_h, 2));
        h = fresh + gate(1) * (h - fresh);
        break;
      }
      case RecurrentKind::lstm: {  // input, forget, cell, output
        Tensor gates = from_x + from_h;
        auto gate = [&](int i) { return sigmoid(part(gates, i)); };
        c = gate(1) * c + gate(0) * tanh(part(gates, 2));
        h = gate(3) * tanh(c);
        break;
      }
    }
    states.push_back(h);
  }
  if (states.empty()) return {full({batch, 0, hidden}, 0, x.dtype(), x.device()), h, c};
  return {stack(states, 1), h, c};
}

}  // namespace mt
