// SPDX-License-Identifier: Apache-2.0
// Element-wise chains, sums, casts and copies of large tensors.
#include "rows.h"

static mt_tensor* relu_add(mt_tensor** in) { return mt_relu(mt_add(in[0], in[1])); }
static mt_tensor* sum(mt_tensor** in) { return mt_sum(in[0], NULL, 0); }
static mt_tensor* transpose_copy(mt_tensor** in) { return mt_copy(mt_transpose(in[0], 0, 1)); }
static mt_tensor* to_bfloat16(mt_tensor** in) { return mt_astype(in[0], MT_BF16); }
static mt_tensor* to_float64(mt_tensor** in) { return mt_astype(in[0], MT_F64); }

// 0.5 x (1 + tanh(0.79788 (x + 0.044715 x^3))), written out in nine operators.
static mt_tensor* gelu(mt_tensor** in) {
  mt_tensor* x = in[0];
  mt_tensor* cube = mt_mul(mt_mul(x, x), x);
  mt_tensor* inner = mt_add(x, mt_mul(cube, mt_number(0.044715)));
  mt_tensor* t = mt_tanh(mt_mul(inner, mt_number(0.7978845608028654)));
  return mt_mul(mt_mul(x, mt_add(t, mt_number(1))), mt_number(0.5));
}

// Eight operators that cost less than what they read and write.
static mt_tensor* cheap_chain(mt_tensor** in) {
  mt_tensor *x = in[0], *y = in[1];
  mt_tensor* t = mt_maximum(mt_sub(mt_mul(mt_add(x, y), x), y), x);
  return mt_relu(mt_sub(mt_abs(mt_mul(t, mt_number(0.5))), x));
}

const row elementwise_rows[] = {
    {.name = "relu_add", .value = relu_add},
    {.name = "sum", .value = sum},
    {.name = "transpose_copy", .value = transpose_copy},
    {.name = "to_bfloat16", .value = to_bfloat16},
    {.name = "to_float64", .value = to_float64},
    {.name = "cheap_chain", .value = cheap_chain},
    {.name = "gelu", .value = gelu},
    {.name = "gelu_unfused", .value = gelu, .unfused = true},
    {0},
};
