// SPDX-License-Identifier: Apache-2.0
// A fragment: every function of a real V, in the order in which they need one another.
// clang-format off
#include "ops/math/arithmetic.h"
#include "ops/math/sixteenths.h"
#include "ops/math/exp.h"
#include "ops/math/log.h"
#include "ops/math/trigonometric.h"
#include "ops/math/inverse_trigonometric.h"
#include "ops/math/hyperbolic.h"
#include "ops/math/error_function.h"
#include "ops/math/normal_cdf.h"
#include "ops/math/power.h"
#include "ops/math/division.h"
#include "ops/math/activations.h"
// clang-format on
