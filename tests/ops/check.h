// SPDX-License-Identifier: Apache-2.0
// What tests of operators have in common: making and reading tensors, and checking a function of
// tensors on every device, eager and deferred, and its gradients against differences.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "graph/node.h"

namespace mt::test {

Device& cpu();
Device& reference();

// A tensor of the given numbers in row-major order.
Tensor make(const Shape& shape, const std::vector<double>& numbers, Dtype dtype = Dtype::float64,
            Device& device = cpu());
// Fixed numbers within (-1, 1), different for each seed.
Tensor noise(const Shape& shape, unsigned seed, Dtype dtype = Dtype::float64,
             Device& device = cpu());
// The same value as a leaf that requires a gradient.
Tensor leaf(const Tensor& x);
std::vector<double> read(const Tensor& x);

void expect_near(const Tensor& x, const std::vector<double>& expected, double tolerance = 1e-12);

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// The sum of f's result times fixed numbers: a number that every element takes part in.
Tensor project(const Tensor& y);
// The gradients of project(f(inputs)) against central differences in float64; with `order` 2 those
// of the gradients, too.
void check_gradients(const Function& f, const std::vector<Tensor>& inputs, int order = 1,
                     double tolerance = 1e-6);
// f and its gradients on the CPU against the reference device, relative to the largest element, and
// the same bits whether each operator runs at once or not. Inputs are noise of these shapes.
void check_devices(const Function& f, const std::vector<Shape>& shapes,
                   Dtype dtype = Dtype::float32, double tolerance = 1e-5);

// How many groups run when x is read.
int group_count(const Tensor& x);
// The message that body() fails with; empty when it does not.
std::string message_of(const std::function<void()>& body);

}  // namespace mt::test
