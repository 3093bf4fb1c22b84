// SPDX-License-Identifier: Apache-2.0
// Element-wise chains, reductions and copies of large tensors.
#include <stddef.h>

#include "rows.h"

static mt_tensor* relu_add(mt_tensor** in) { return mt_relu(mt_add(in[0], in[1])); }
static mt_tensor* softmax(mt_tensor** in) { return mt_softmax(in[0], -1); }
static mt_tensor* layer_norm(mt_tensor** in) { return mt_layer_norm(in[0], 1, in[1], in[2], 1e-5); }
static mt_tensor* sum(mt_tensor** in) { return mt_sum(in[0], NULL, 0); }
static mt_tensor* transpose_copy(mt_tensor** in) { return mt_copy(mt_transpose(in[0], 0, 1)); }

// 0.5 x (1 + tanh(0.79788 (x + 0.044715 x^3))), written out in nine operators.
static mt_tensor* gelu(mt_tensor** in) {
  mt_tensor* x = in[0];
  mt_tensor* cube = mt_mul(mt_mul(x, x), x);
  mt_tensor* inner = mt_add(x, mt_mul(cube, mt_number(0.044715)));
  mt_tensor* t = mt_tanh(mt_mul(inner, mt_number(0.7978845608028654)));
  return mt_mul(mt_mul(x, mt_add(t, mt_number(1))), mt_number(0.5));
}

const row elementwise_rows[] = {
    {.name = "relu_add", .value = relu_add},
    {.name = "softmax", .value = softmax},
    {.name = "layer_norm", .value = layer_norm},
    {.name = "sum", .value = sum},
    {.name = "transpose_copy", .value = transpose_copy},
    {.name = "gelu", .value = gelu},
    {.name = "gelu_unfused", .value = gelu, .unfused = true},
    {0},
};
