// SPDX-License-Identifier: Apache-2.0
// Element-wise chains, reductions and copies of large tensors.
#include <stddef.h>

#include "rows.h"

static mt_tensor* relu_add(mt_tensor** in) { return mt_relu(mt_add(in[0], in[1])); }
static mt_tensor* softmax(mt_tensor** in) { return mt_softmax(in[0], -1); }
static mt_tensor* layer_norm(mt_tensor** in) { return mt_layer_norm(in[0], 1, in[1], in[2], 1e-5); }
static mt_tensor* rms_norm(mt_tensor** in) { return mt_rms_norm(in[0], 1, in[1], 1e-5); }
static mt_tensor* cross_entropy(mt_tensor** in) {
  return mt_cross_entropy(in[0], in[1], -1, MT_REDUCTION_MEAN);
}
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

// Eight operators that cost less than what they read and write.
static mt_tensor* cheap_chain(mt_tensor** in) {
  mt_tensor *x = in[0], *y = in[1];
  mt_tensor* t = mt_maximum(mt_sub(mt_mul(mt_add(x, y), x), y), x);
  return mt_relu(mt_sub(mt_abs(mt_mul(t, mt_number(0.5))), x));
}

// The gradient to the first input, for the gradient of the value that is the last (or one).
static mt_tensor* gradient(mt_tensor* value, mt_tensor* of_value, mt_tensor* x) {
  mt_tensor* dx = NULL;
  mt_grad(&value, 1, &x, 1, of_value ? &of_value : NULL, &dx);
  return dx;
}
static mt_tensor* softmax_gradient(mt_tensor** in) { return gradient(softmax(in), in[1], in[0]); }
static mt_tensor* layer_norm_gradient(mt_tensor** in) {
  return gradient(layer_norm(in), in[3], in[0]);
}
static mt_tensor* cross_entropy_gradient(mt_tensor** in) {
  return gradient(cross_entropy(in), NULL, in[0]);
}
static void differentiable(mt_tensor** in) { mt_require_grad(in[0]); }

const row elementwise_rows[] = {
    {.name = "relu_add", .value = relu_add},
    {.name = "softmax", .value = softmax},
    {.name = "layer_norm", .value = layer_norm},
    {.name = "rms_norm", .value = rms_norm},
    {.name = "cross_entropy", .value = cross_entropy},
    {.name = "softmax_gradient", .value = softmax_gradient, .open = differentiable},
    {.name = "layer_norm_gradient", .value = layer_norm_gradient, .open = differentiable},
    {.name = "cross_entropy_gradient", .value = cross_entropy_gradient, .open = differentiable},
    {.name = "cheap_chain", .value = cheap_chain},
    {.name = "sum", .value = sum},
    {.name = "transpose_copy", .value = transpose_copy},
    {.name = "gelu", .value = gelu},
    {.name = "gelu_unfused", .value = gelu, .unfused = true},
    {0},
};
