// SPDX-License-Identifier: Apache-2.0
// Functions of few enough numbers to stay in the first-level cache.
#include "rows.h"

static mt_tensor* exponential(mt_tensor** in) { return mt_exp(in[0]); }
static mt_tensor* logarithm(mt_tensor** in) { return mt_log(in[0]); }
static mt_tensor* hyperbolic(mt_tensor** in) { return mt_tanh(in[0]); }
static mt_tensor* error_function(mt_tensor** in) { return mt_erf(in[0]); }
static mt_tensor* sigmoid(mt_tensor** in) { return mt_sigmoid(in[0]); }
static mt_tensor* sine(mt_tensor** in) { return mt_sin(in[0]); }
static mt_tensor* power(mt_tensor** in) { return mt_pow(in[0], in[1]); }

const row math_rows[] = {
    {.name = "exp", .value = exponential}, {.name = "log", .value = logarithm},
    {.name = "tanh", .value = hyperbolic}, {.name = "erf", .value = error_function},
    {.name = "sigmoid", .value = sigmoid}, {.name = "sin", .value = sine},
    {.name = "pow", .value = power},       {0},
};
