// SPDX-License-Identifier: Apache-2.0
/// @file mtorch.hpp
/// The C interface as C++ values: nothing to release, operators, exceptions. Header-only, C++20
/// (for std::span, and for designated initializers as named options).
///
/// @code
/// using namespace mtorch;
/// Tensor w = zeros({1, 1}).require_grad(), b = zeros({1}).require_grad();
/// for (int step = 0; step < 200; ++step) {
///   mean(square(matmul(x, w) + b - y)).backward();
///   sgd({w, b}, 0.3);
///   zero_grad({w, b});
/// }
/// @endcode
///
/// A function here has the name and the meaning of the C function, mtorch::relu() is mt_relu(), and
/// its documentation is there. What differs:
///  - a Tensor owns its handle; copies share the handle, as a shared pointer does;
///  - an error is thrown at the call that fails, as an Error;
///  - an optional tensor is left out as {}; numbers convert to tensors; shapes and axes are written
///    {2, 3}; no axes means all; options are `{.padding = {1, 1}}`;
///  - x[i] and x[{range(1, 3), at(0)}] index; comparisons give tensors, and a Tensor is no
///  condition:
///    has_value() says whether there is one;
///  - a reduction keeps its axes by a last argument, true, in place of a second function;
///  - a C++ exception in a callback comes out of the call as itself.
#ifndef MTORCH_MTORCH_HPP_
#define MTORCH_MTORCH_HPP_

// IWYU pragma: begin_exports
#include "data.hpp"
#include "device.hpp"
#include "error.hpp"
#include "io.hpp"
#include "kernel.hpp"
#include "linalg.hpp"
#include "linear.hpp"
#include "mtorch.h"
#include "nn.hpp"
#include "ops.hpp"
#include "optim.hpp"
#include "profile.hpp"
#include "random.hpp"
#include "reduce.hpp"
#include "tape.hpp"
#include "tensor.hpp"
#include "view.hpp"
#include "whole_number.hpp"
// IWYU pragma: end_exports

#endif
