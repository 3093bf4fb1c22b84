// SPDX-License-Identifier: Apache-2.0
// Convolution and its transpose, whose operands are known to fit.
#pragma once

#include "ops/convolution_windows.h"
#include "ops/ops.h"

namespace mt {

// x [n, c, length...], w [o, c / groups, kernel...] -> y [n, o, positions...]
Tensor convolve(const Tensor& x, const Tensor& w, const ConvolutionGeometry& g);
// y [n, o, positions...], w [o, c / groups, kernel...] -> x [n, c, length...]
Tensor convolve_transpose(const Tensor& y, const Tensor& w, const ConvolutionGeometry& g);

}  // namespace mt
