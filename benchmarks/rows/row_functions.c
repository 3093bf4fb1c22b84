// SPDX-License-Identifier: Apache-2.0
// Functions of whole rows, and their gradients to all that they read.
#include "rows.h"

static mt_tensor* softmax(mt_tensor** in) { return mt_softmax(in[0], -1); }
static mt_tensor* layer_norm(mt_tensor** in) { return mt_layer_norm(in[0], 1, in[1], in[2], 1e-5); }
static mt_tensor* rms_norm(mt_tensor** in) { return mt_rms_norm(in[0], 1, in[1], 1e-5); }
static mt_tensor* cross_entropy(mt_tensor** in) {
  return mt_cross_entropy(in[0], in[1], -1, MT_REDUCTION_MEAN);
}

static void softmax_gradient(mt_tensor** in, mt_tensor** made) {
  gradients(softmax(in), in[1], in, 1, made);
}
static void layer_norm_gradient(mt_tensor** in, mt_tensor** made) {
  gradients(layer_norm(in), in[3], in, 3, made);
}
static void rms_norm_gradient(mt_tensor** in, mt_tensor** made) {
  gradients(rms_norm(in), in[2], in, 2, made);
}
static void cross_entropy_gradient(mt_tensor** in, mt_tensor** made) {
  gradients(cross_entropy(in), NULL, in, 1, made);
}

#define GRADIENT(name_, inputs) \
  { .name = #name_, .values = name_, .count = inputs, .open = differentiable##inputs }

const row row_rows[] = {
    {.name = "softmax", .value = softmax},
    {.name = "layer_norm", .value = layer_norm},
    {.name = "rms_norm", .value = rms_norm},
    {.name = "cross_entropy", .value = cross_entropy},
    GRADIENT(softmax_gradient, 1),
    GRADIENT(layer_norm_gradient, 3),
    GRADIENT(rms_norm_gradient, 2),
    GRADIENT(cross_entropy_gradient, 1),
    {0},
};
