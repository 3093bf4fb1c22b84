// SPDX-License-Identifier: Apache-2.0
// Layers and convolutions, and their gradients.
#include "rows.h"

static mt_tensor* linear_gelu(mt_tensor** in) { return mt_gelu(mt_linear(in[0], in[1], in[2])); }
// in: x, weight, bias and the gradient of y.
static void linear_gelu_backward(mt_tensor** in, mt_tensor** made) {
  gradients(linear_gelu(in), in[3], in, 3, made);
}

// in: queries, keys, values, and the gradient of y for rows that need it.
static mt_tensor* attend(mt_tensor** in, bool causal) {
  mt_attention_options how = MT_ATTENTION_OPTIONS_INIT;
  how.causal = causal;
  return mt_scaled_dot_product_attention(in[0], in[1], in[2], NULL, &how);
}
static mt_tensor* attention(mt_tensor** in) { return attend(in, false); }
static mt_tensor* attention_causal(mt_tensor** in) { return attend(in, true); }
static void attention_backward(mt_tensor** in, mt_tensor** made) {
  gradients(attend(in, false), in[3], in, 3, made);
}
static void attention_causal_backward(mt_tensor** in, mt_tensor** made) {
  gradients(attend(in, true), in[3], in, 3, made);
}

// In as many groups as the weight's shape says.
static mt_tensor* convolve(mt_tensor** in, bool same) {
  mt_conv_options how = MT_CONV_OPTIONS_INIT;
  how.groups = mt_dim(in[0], 1) / mt_dim(in[1], 1);
  for (int i = 0; same && i < 2; i++) how.padding[i] = mt_dim(in[1], 2) / 2;
  return mt_conv2d(in[0], in[1], NULL, &how);
}
static mt_tensor* convolve_gradient(mt_tensor** in, bool same, int input) {
  mt_tensor* made = NULL;
  gradients(convolve(in, same), in[2], &in[input], 1, &made);
  return made;
}
static mt_tensor* conv_same(mt_tensor** in) { return convolve(in, true); }
static mt_tensor* conv_same_dx(mt_tensor** in) { return convolve_gradient(in, true, 0); }
static mt_tensor* conv_same_dw(mt_tensor** in) { return convolve_gradient(in, true, 1); }
static mt_tensor* conv_valid(mt_tensor** in) { return convolve(in, false); }
static mt_tensor* conv_valid_dx(mt_tensor** in) { return convolve_gradient(in, false, 0); }
static mt_tensor* conv_valid_dw(mt_tensor** in) { return convolve_gradient(in, false, 1); }

#define BACKWARD(name_) \
  { .name = #name_, .values = name_, .count = 3, .open = differentiable3 }

const row layer_rows[] = {
    {.name = "linear_gelu", .value = linear_gelu},
    BACKWARD(linear_gelu_backward),
    {.name = "attention", .value = attention},
    {.name = "attention_causal", .value = attention_causal},
    BACKWARD(attention_backward),
    BACKWARD(attention_causal_backward),
    {.name = "conv_same", .value = conv_same},
    {.name = "conv_same_dx", .value = conv_same_dx, .open = differentiable2},
    {.name = "conv_same_dw", .value = conv_same_dw, .open = differentiable2},
    {.name = "conv_valid", .value = conv_valid},
    {.name = "conv_valid_dx", .value = conv_valid_dx, .open = differentiable2},
    {.name = "conv_valid_dw", .value = conv_valid_dw, .open = differentiable2},
    {0},
};
