// SPDX-License-Identifier: Apache-2.0
// What layers are made with: checks of their numbers, their tensors, their result as a function.
#pragma once

#include <cmath>

#include "base/error.h"
#include "nn/layers.h"
#include "ops/random.h"

namespace mt {

inline void check_whole(const std::string& layer, const char* what, bool possible, int64_t value) {
  if (possible) return;
  fail(Code::invalid, "layer \"%s\": %s cannot be %lld", layer.c_str(), what,
       static_cast<long long>(value));
}
inline void check_positive(const std::string& layer, const char* what, int64_t value) {
  constexpr int64_t most = int64_t{1} << 56;  // more than fits, and a few times it is a number
  check_whole(layer, what, value >= 1 && value <= most, value);
}
inline void check_number(const std::string& layer, const char* what, bool possible, double value) {
  if (!possible) fail(Code::invalid, "layer \"%s\": %s cannot be %g", layer.c_str(), what, value);
}
inline void check_epsilon(const std::string& layer, double epsilon) {
  check_number(layer, "epsilon", epsilon >= 0 && std::isfinite(epsilon), epsilon);
}

using Bindings = std::vector<Binding*>;

// The tensors of one layer. They are added together, once all names are known to be free.
class NewTensors {
 public:
  NewTensors(Parameters& parameters, const std::string& layer)
      : parameters_(parameters), prefix_(layer.empty() ? layer : layer + '.') {}

  void add(const std::string& name, Tensor value, bool is_buffer = false) {
    parameters_.check_new(prefix_ + name);
    pending_.push_back({prefix_ + name, std::move(value), is_buffer});
  }
  void add_uniform(const std::string& name, const Shape& shape, int64_t fan_in) {
    double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    add(name, uniform(shape, -bound, bound, parameters_.dtype, parameters_.device));
  }
  void add_full(const std::string& name, const Shape& shape, double value, bool is_buffer = false) {
    add(name, full(shape, value, parameters_.dtype, parameters_.device), is_buffer);
  }
  // In the order in which they were given.
  Bindings finish() {
    Bindings bindings;
    for (Pending& tensor : pending_) {
      bindings.push_back(
          &parameters_.create(tensor.name, std::move(tensor.value), tensor.is_buffer));
    }
    return bindings;
  }

 private:
  struct Pending {
    std::string name;
    Tensor value;
    bool is_buffer;
  };
  Parameters& parameters_;
  std::string prefix_;
  std::vector<Pending> pending_;
};

inline Tensor value_of(const Binding* binding) { return binding ? binding->value() : Tensor(); }

// A layer whose result is a function of x and of its tensors alone.
template <class Function>
class Applied final : public Layer {
 public:
  Applied(Bindings bindings, Function function)
      : bindings_(std::move(bindings)), function_(std::move(function)) {}
  Tensor apply(const Tensor& x) override { return function_(x, bindings_); }

 private:
  Bindings bindings_;
  Function function_;
};

template <class Function>
Layer& add_applied(Parameters& parameters, Bindings bindings, Function function) {
  return parameters.add_layer(
      std::make_unique<Applied<Function>>(std::move(bindings), std::move(function)));
}

}  // namespace mt
