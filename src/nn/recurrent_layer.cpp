// SPDX-License-Identifier: Apache-2.0
// Recurrent networks of several layers, each reading the states of the one before.
#include "nn/new_layer.h"

namespace mt {
namespace {

class RecurrentLayer final : public Layer {
 public:
  RecurrentLayer(RecurrentKind kind, int64_t layers, bool bias, Bindings weights)
      : kind_(kind), layers_(layers), bias_(bias), weights_(std::move(weights)) {}

  Tensor apply(const Tensor& x) override {
    Tensor y = x;
    for (int64_t i = 0; i < layers_; ++i) y = run_one(i, y, nullptr, nullptr).y;
    return y;
  }

  Run run(const Tensor& x, const Tensor& states, const Tensor& cells) override {
    if (cells && kind_ != RecurrentKind::lstm) {
      fail(Code::invalid, "recurrent layer: only lstm has cells");
    }
    check_states(states);
    check_states(cells);
    Tensor y = x;
    std::vector<Tensor> last, last_cells;
    for (int64_t i = 0; i < layers_; ++i) {
      Recurrent one = run_one(i, y, part(states, i), part(cells, i));
      y = one.y;
      last.push_back(one.state);
      last_cells.push_back(one.cell);
    }
    bool has_cells = kind_ == RecurrentKind::lstm;
    return {y, stack(last, 0), has_cells ? stack(last_cells, 0) : Tensor()};
  }

 private:
  Recurrent run_one(int64_t layer, const Tensor& x, const Tensor& state, const Tensor& cell) const {
    Binding* const* of = &weights_[layer * (bias_ ? 4 : 2)];
    return recurrent(kind_, x, state, cell,
                     {of[0]->value(), of[1]->value(), value_of(bias_ ? of[2] : nullptr),
                      value_of(bias_ ? of[3] : nullptr)});
  }
  static Tensor part(const Tensor& states, int64_t layer) {
    return states ? select(states, 0, layer) : states;
  }
  void check_states(const Tensor& states) const {
    if (!states || (states.rank() == 3 && states.shape()[0] == layers_)) return;
    fail(Code::shape, "recurrent layer: states %s: needs [%lld, batch, hidden]",
         to_string(states.shape()).c_str(), static_cast<long long>(layers_));
  }

  RecurrentKind kind_;
  int64_t layers_;
  bool bias_;
  Bindings weights_;  // of each layer: both weights, then both biases
};

}  // namespace

Layer& add_recurrent(Parameters& parameters, const std::string& name, RecurrentKind kind,
                     int64_t in, int64_t hidden, int64_t layers, bool bias) {
  check_positive(name, "in", in);
  check_positive(name, "hidden", hidden);
  check_positive(name, "layers", layers);
  constexpr int64_t gates[] = {1, 3, 4};
  int64_t width = gates[static_cast<int>(kind)] * hidden;
  NewTensors tensors(parameters, name);
  for (int64_t i = 0; i < layers; ++i) {
    std::string of = "_l" + std::to_string(i);
    tensors.add_uniform("weight_ih" + of, {width, i ? hidden : in}, hidden);
    tensors.add_uniform("weight_hh" + of, {width, hidden}, hidden);
    if (bias) tensors.add_uniform("bias_ih" + of, {width}, hidden);
    if (bias) tensors.add_uniform("bias_hh" + of, {width}, hidden);
  }
  return parameters.add_layer(
      std::make_unique<RecurrentLayer>(kind, layers, bias, tensors.finish()));
}

}  // namespace mt
