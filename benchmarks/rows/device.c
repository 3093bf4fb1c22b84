// SPDX-License-Identifier: Apache-2.0
// Rows that only a GPU has: 16-bit floats, and what it takes to bring a result home.
#include <stdlib.h>

#include "rows.h"

static void to_half(mt_tensor** in, int count) {
  for (int i = 0; i < count; i++) {
    mt_tensor* half = mt_astype(in[i], MT_BF16);
    mt_eval(&half, 1);
    mt_release(in[i]);
    in[i] = half;
  }
}
static void two_to_half(mt_tensor** in) { to_half(in, 2); }
static void three_to_half(mt_tensor** in) { to_half(in, 3); }

static mt_tensor* linear_gelu(mt_tensor** in) { return mt_gelu(mt_linear(in[0], in[1], in[2])); }
static mt_tensor* attention(mt_tensor** in) {
  mt_attention_options causal = MT_ATTENTION_OPTIONS_INIT;
  causal.causal = true;
  return mt_scaled_dot_product_attention(in[0], in[1], in[2], NULL, &causal);
}
// What copying takes: one array read, one written.
static mt_tensor* negative(mt_tensor** in) { return mt_neg(in[0]); }

static mt_tensor* product(mt_tensor** in) { return mt_matmul(in[0], in[1]); }
static mt_tensor* transposed(mt_tensor** in) { return mt_matmul(mt_transpose(in[0], 0, 1), in[1]); }

static void bring_home(mt_tensor* (*value)(mt_tensor**), mt_tensor** in, int64_t times) {
  for (; times > 0; times--) {
    MT_SCOPE {
      mt_tensor* made = value(in);
      size_t bytes = sizeof(float) * (size_t)mt_size(made);
      float* home = malloc(bytes);
      if (home) mt_copy_to_host(made, home, bytes);
      free(home);
    }
  }
}
static void product_home(mt_tensor** in, int64_t times) { bring_home(product, in, times); }
static void transposed_home(mt_tensor** in, int64_t times) { bring_home(transposed, in, times); }

const row device_rows[] = {
    {.name = "linear_gelu_half", .value = linear_gelu, .open = three_to_half},
    {.name = "attention_causal_half", .value = attention, .open = three_to_half},
    {.name = "matmul_half", .value = product, .open = two_to_half},
    {.name = "negative", .value = negative},
    {.name = "matmul_home", .value = product, .run = product_home},
    {.name = "matmul_at_b_home", .value = transposed, .run = transposed_home},
    {0},
};
