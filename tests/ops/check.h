// SPDX-License-Identifier: Apache-2.0
// What tests of operators have in common: making and reading tensors, and checking a function of
// tensors on every device, eager and deferred, and its gradients against differences.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/error.h"
#include "graph/leaf.h"

namespace mt::testing {

Device& cpu();
Device& reference();

using Numbers = std::vector<double>;

inline constexpr Dtype every_dtype[] = {
    Dtype::boolean,  Dtype::uint8,   Dtype::uint16, Dtype::uint32, Dtype::uint64,
    Dtype::int8,     Dtype::int16,   Dtype::int32,  Dtype::int64,  Dtype::float16,
    Dtype::bfloat16, Dtype::float32, Dtype::float64};

// A tensor of the given numbers in row-major order.
Tensor make(const Shape& shape, const Numbers& numbers, Dtype dtype = Dtype::float64,
            Device& device = cpu());
// Fixed numbers within (-1, 1), different for each seed.
Tensor noise(const Shape& shape, unsigned seed, Dtype dtype = Dtype::float64,
             Device& device = cpu());
// Integers along one axis.
Tensor integers(const Numbers& numbers, Device& device = cpu());
// from, from + 1, ...
Numbers counting(int64_t count, double from = 0);
// Whole numbers from 0 to range - 1 that look random.
Numbers scattered(int64_t count, int64_t range, uint64_t seed = 1);
// Such numbers, and among them infinities, NaN, zeros of both signs and denormal ones.
Numbers special(int64_t count);
Numbers read(const Tensor& x);

void expect_near(const Tensor& x, const Numbers& expected, double tolerance = 1e-12);

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// The sum of f's result times fixed numbers: a number that every element takes part in.
Tensor project(const Tensor& y);
// The gradients of project(f(inputs)) against central differences in float64; with `order` 2 those
// of the gradients, too.
void check_gradients(const Function& f, const std::vector<Tensor>& inputs, int order = 1,
                     double tolerance = 1e-6);
// The same of a function of one tensor.
void check_gradient(const Tensor& x, const std::function<Tensor(const Tensor&)>& f);
// f and its gradients on the CPU against the reference device, relative to the largest element, and
// the same bits whether each operator runs at once or not. Inputs are noise of these shapes.
void check_devices(const Function& f, const std::vector<Shape>& shapes,
                   Dtype dtype = Dtype::float32, double tolerance = 1e-5);

// f, given what makes its tensors, on the reference device, and on the CPU deferred, with one
// thread and three, and eagerly: all give the same values, which it returns.
using Make = std::function<Tensor(const Shape&, const Numbers&, Dtype)>;
Numbers everywhere(const std::function<Tensor(const Make&)>& f);

// How many groups run when x is read.
int group_count(const Tensor& x);
// The message that body() fails with; empty when it does not.
std::string message_of(const std::function<void()>& body);
// Its code.
Code code_of(const std::function<void()>& body);

}  // namespace mt::testing
