// SPDX-License-Identifier: Apache-2.0
// Contractions: matrix products, layers and convolutions.
#include <stddef.h>

#include "rows.h"

static mt_tensor* product(mt_tensor** in) { return mt_matmul(in[0], in[1]); }
static mt_tensor* transposed_a(mt_tensor** in) {
  return mt_matmul(mt_transpose(in[0], 0, 1), in[1]);
}
static mt_tensor* transposed_b(mt_tensor** in) {
  return mt_matmul(in[0], mt_transpose(in[1], 0, 1));
}

static mt_tensor* einsum(mt_tensor** in) { return mt_einsum("ik,kj->ij", in, 2); }
static mt_tensor* chain(mt_tensor** in) { return mt_einsum("ij,jk,kl->il", in, 3); }
// As somebody new to matmul writes it.
static mt_tensor* multiply_sum(mt_tensor** in) {
  const int64_t rows[] = {mt_dim(in[0], 0), mt_dim(in[0], 1), 1}, axis = 1;
  return mt_sum(mt_mul(mt_reshape(in[0], rows, 3), in[1]), &axis, 1);
}

static mt_tensor* linear_gelu(mt_tensor** in) { return mt_gelu(mt_linear(in[0], in[1], in[2])); }

static void require_gradients(mt_tensor** in) {
  for (int i = 0; i < 3; i++) mt_set_requires_grad(in[i], true);
}
// in: x, weight, bias and the gradient of y.
static void linear_gelu_gradients(mt_tensor** in, mt_tensor** made) {
  mt_tensor* y = linear_gelu(in);
  mt_grad(&y, 1, in, 3, &in[3], made);
}
static void linear_gelu_backward(mt_tensor** in, int64_t times) {
  for (int64_t i = 0; i < times; i++) {
    MT_SCOPE {
      mt_tensor* made[3] = {0};
      linear_gelu_gradients(in, made);
      mt_eval(made, 3);
    }
  }
}
static mt_tensor* linear_gelu_all(mt_tensor** in) {
  mt_tensor* made[3] = {0};
  const int64_t flat = -1;
  linear_gelu_gradients(in, made);
  for (int i = 0; i < 3; i++) made[i] = mt_reshape(made[i], &flat, 1);
  return mt_concat(made, 3, 0);
}

// In as many groups as the weight's shape says.
static mt_tensor* convolve(mt_tensor** in, bool same) {
  mt_conv_options how = MT_CONV_OPTIONS_INIT;
  how.groups = mt_dim(in[0], 1) / mt_dim(in[1], 1);
  for (int i = 0; same && i < 2; i++) how.padding[i] = mt_dim(in[1], 2) / 2;
  return mt_conv2d(in[0], in[1], NULL, &how);
}
static mt_tensor* convolve_gradient(mt_tensor** in, bool same, int input) {
  mt_tensor *y = convolve(in, same), *made = NULL;
  mt_grad(&y, 1, &in[input], 1, &in[2], &made);
  mt_release(mt_take(y));  // or it would be computed, being held
  return made;
}
static void require_two_gradients(mt_tensor** in) {
  for (int i = 0; i < 2; i++) mt_set_requires_grad(in[i], true);
}
static mt_tensor* conv_same(mt_tensor** in) { return convolve(in, true); }
static mt_tensor* conv_same_dx(mt_tensor** in) { return convolve_gradient(in, true, 0); }
static mt_tensor* conv_same_dw(mt_tensor** in) { return convolve_gradient(in, true, 1); }
static mt_tensor* conv_valid(mt_tensor** in) { return convolve(in, false); }
static mt_tensor* conv_valid_dx(mt_tensor** in) { return convolve_gradient(in, false, 0); }
static mt_tensor* conv_valid_dw(mt_tensor** in) { return convolve_gradient(in, false, 1); }

const row matrix_rows[] = {
    {.name = "matmul", .value = product},
    {.name = "matmul_at_b", .value = transposed_a},
    {.name = "matmul_a_bt", .value = transposed_b},
    {.name = "einsum", .value = einsum},
    {.name = "einsum_chain", .value = chain},
    {.name = "multiply_sum", .value = multiply_sum},
    {.name = "linear_gelu", .value = linear_gelu},
    {.name = "linear_gelu_backward",
     .value = linear_gelu_all,
     .open = require_gradients,
     .run = linear_gelu_backward},
    {.name = "conv_same", .value = conv_same},
    {.name = "conv_same_dx", .value = conv_same_dx, .open = require_two_gradients},
    {.name = "conv_same_dw", .value = conv_same_dw, .open = require_two_gradients},
    {.name = "conv_valid", .value = conv_valid},
    {.name = "conv_valid_dx", .value = conv_valid_dx, .open = require_two_gradients},
    {.name = "conv_valid_dw", .value = conv_valid_dw, .open = require_two_gradients},
    {0},
};
