// SPDX-License-Identifier: Apache-2.0
#include "autodiff/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "autodiff/backward.h"
#include "backends/backend.h"
#include "backends/host_array.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "ops/ops.h"
#include "tensor/walker.h"

namespace mt {
namespace {

Tensor from_numbers(const std::vector<double>& numbers, const Shape& shape, Device& device) {
  Ref<Storage> storage = Storage::allocate(device, numbers.size() * sizeof(double));
  if (!storage) throw std::bad_alloc();
  device.backend->copy_from_host(storage->data(), numbers.data(), numbers.size() * sizeof(double));
  return make_leaf(std::move(storage), Dtype::float64, contiguous_layout(shape));
}

std::vector<double> to_numbers(const Tensor& x) {
  std::vector<double> numbers;
  const HostArray here = host_array(x);
  for (int64_t i = 0; i < x.size(); ++i) numbers.push_back(here.array.number(i));
  return numbers;
}

// Weights in [0.5, 1.5) that look random and are the same in every run: multiples of the golden
// ratio, modulo 1.
Tensor weights_for(const Tensor& x) {
  std::vector<double> weights;
  for (int64_t i = 0; i < x.size(); ++i) {
    double turns = 0.6180339887498949 * static_cast<double>(i + 1);
    weights.push_back(0.5 + turns - std::floor(turns));
  }
  return from_numbers(weights, x.shape(), x.device());
}

Tensor weighted_sum(const Tensor& x) {
  return x.size() == 1 ? reshape(x, {}) : sum(cast(x, Dtype::float64) * weights_for(x));
}

std::string position(int64_t element, const Shape& shape) {
  Dims index = Dims::filled(shape.rank(), 0);
  locate(contiguous_layout(shape), element, index.data());
  return to_string(index);
}

std::vector<Tensor> fresh_leaves(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) {
    leaves.push_back(detach(input));
    leaves.back()->requires_gradient = true;
  }
  return leaves;
}

std::vector<Tensor> gradients_at(const TensorFunction& function,
                                 const std::vector<Tensor>& leaves) {
  Tensor y = weighted_sum(function(leaves));
  // A constant has no history: the slope of a linear function, say.
  std::vector<Tensor> found(leaves.size());
  if (y.requires_gradient()) found = gradients({y}, {}, leaves);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) found[i] = zeros_like(leaves[i]);
  }
  return found;
}

void compare(const char* what, const TensorFunction& function, const std::vector<Tensor>& inputs,
             const GradientCheck& check) {
  GradientMode with_history(true);
  std::vector<Tensor> found = gradients_at(function, fresh_leaves(inputs));
  evaluate(found.data(), found.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<double> numbers = to_numbers(inputs[i]), slopes = to_numbers(found[i]);
    auto value_with = [&](int64_t element, double change) {
      std::vector<double> moved = numbers;
      moved[element] += change;
      std::vector<Tensor> at = inputs;
      at[i] = from_numbers(moved, inputs[i].shape(), inputs[i].device());
      for (Tensor& input : at) {
        if (input.requires_gradient()) input = detach(input);
      }
      return to_numbers(weighted_sum(function(at)))[0];
    };
    for (int64_t element = 0; element < inputs[i].size(); ++element) {
      double quotient =
          (value_with(element, check.step) - value_with(element, -check.step)) / (2 * check.step);
      double gradient = slopes[element];
      double size = std::max(std::fabs(quotient), std::fabs(gradient));
      if (std::fabs(quotient - gradient) <= check.absolute + check.relative * size) continue;
      fail(Code::invalid,
           "gradient_check: %s of input %zu at %s is %.10g, the difference quotient %.10g", what, i,
           position(element, inputs[i].shape()).c_str(), gradient, quotient);
    }
  }
}

}  // namespace

void check_gradient(const TensorFunction& function, const std::vector<Tensor>& inputs,
                    const GradientCheck& check) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != Dtype::float64) {
      fail(Code::dtype, "gradient_check: input %zu is %s, which is too coarse; use float64", i,
           name_of(inputs[i].dtype()));
    }
  }
  compare("the gradient", function, inputs, check);
  if (check.order < 2) return;
  TensorFunction slope = [&](const std::vector<Tensor>& at) {
    std::vector<Tensor> leaves = at;
    for (Tensor& leaf : leaves) {
      if (!leaf.requires_gradient()) leaf = fresh_leaves({leaf})[0];
    }
    Tensor total;
    for (const Tensor& gradient : gradients_at(function, leaves)) {
      Tensor part = weighted_sum(gradient);
      total = total ? total + part : part;
    }
    return total;
  };
  compare("the second gradient", slope, inputs, check);
}

}  // namespace mt
