// SPDX-License-Identifier: Apache-2.0
// A collection without handles, and layers over one in double.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "graph/evaluate.h"
#include "graph/modes.h"
#include "graph/variable.h"
#include "io/support.h"
#include "nn/parameters.h"
#include "ops/ops.h"

namespace mt {

class PlainBinding : public Binding {
 public:
  explicit PlainBinding(Tensor value) { cell_.set(std::move(value)); }
  Tensor value() const override { return cell_.get(); }
  void bind(Tensor value) override {
    if (requires_gradient_) mark(value);
    cell_.set(std::move(value));
  }
  bool requires_gradient() const override { return requires_gradient_; }
  void require_gradient() override {
    variable_ = Ref<Variable>(new Variable);
    requires_gradient_ = true;
    Tensor leaf = detach(cell_.get());
    mark(leaf);
    cell_.set(std::move(leaf));
  }
  Tensor gradient() const override { return variable_ ? variable_->gradient.get() : Tensor(); }
  void set_gradient(Tensor gradient) override { variable_->gradient.set(std::move(gradient)); }
  void freeze() {
    requires_gradient_ = false;
    cell_.set(detach(cell_.get()));
  }

 private:
  void mark(Tensor& value) const {
    value->variable = variable_;
    value->requires_gradient = true;
  }
  StateSlot cell_;
  Ref<Variable> variable_;
  bool requires_gradient_ = false;
};

inline Ref<Parameters> make_parameters(Dtype dtype = Dtype::float32, const char* device = "cpu") {
  auto make_binding = [](Tensor value) -> std::unique_ptr<Binding> {
    return std::make_unique<PlainBinding>(std::move(value));
  };
  return Ref<Parameters>(new Parameters(dtype, find_device(device), make_binding));
}

// Some numbers between -1 and 1.
inline std::vector<double> numbers(size_t count, uint64_t seed) {
  std::vector<double> result;
  uint64_t state = seed * 2654435761u + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    result.push_back(static_cast<double>(state >> 40) * 0x1p-23 - 1);
  }
  return result;
}

inline Tensor from_doubles(const std::vector<double>& values, const Shape& shape, Dtype dtype,
                           Device& device) {
  GradientMode no_gradient(false);
  Tensor result = cast(from_host(values.data(), Dtype::float64, shape, device), dtype);
  evaluate(result);
  return result;
}
inline std::vector<double> to_doubles(const Tensor& tensor) {
  GradientMode no_gradient(false);
  return values_of<double>(cast(tensor, Dtype::float64));
}

// Layers over a collection in double.
class LayerTest : public FileTest {
 protected:
  Ref<Parameters> parameters_ = make_parameters(Dtype::float64);
  Device& device_ = parameters_->device;

  Tensor random(const Shape& shape, uint64_t seed) const {
    return from_doubles(numbers(static_cast<size_t>(element_count(shape)), seed), shape,
                        Dtype::float64, device_);
  }
  Tensor of(const std::string& name) const { return parameters_->find(name)->binding->value(); }
  static void expect_near(const Tensor& found, const Tensor& expected) {
    ASSERT_EQ(found.shape(), expected.shape());
    std::vector<double> ours = to_doubles(found), theirs = to_doubles(expected);
    for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-12) << i;
  }
};

}  // namespace mt
