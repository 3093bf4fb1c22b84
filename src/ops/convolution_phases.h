// SPDX-License-Identifier: Apache-2.0
// A transposed convolution with strides, phase by phase. Along an axis x's positions
// stride * j + offset are a phase: they get y[j + q - t] times the kernel's element stride * t + r
// for each tap t, where stride * q + r = offset + padding. That is a convolution of its own, with
// the kernel's elements r, r + stride, ... and without strides.
//
// All phases can be one contraction (convolution_windows.h), in which each has as many taps. Where
// the kernel is no multiple of the stride, some have fewer, and then zeros are multiplied: with a
// kernel of 3 and a stride of 2 along two axes seven times of sixteen.
#pragma once

#include "ops/convolution_windows.h"

namespace mt {

// Whether x is made faster so. `channels` are those of a group of x.
bool pays_phases(const ConvolutionGeometry& g, int64_t channels);

// y [n, o, positions...], w [o, c / groups, kernel...] -> x [n, c, length...]
Tensor transpose_by_phases(const Tensor& y, const Tensor& w, const ConvolutionGeometry& g);

}  // namespace mt
