// SPDX-License-Identifier: Apache-2.0
// Training steps of LeNet and of a transformer that predicts characters, and the transformer's next
// character. The inputs are the parameters, then the batch, then the targets.
#include <stdio.h>

#include "rows.h"

static mt_trace* trace;
static mt_parameters* collection;
static mt_optimizer* optimizer;

static void close_trace(void) {
  mt_trace_release(trace);
  trace = NULL;
}

static void replay(mt_tensor* const* batch, size_t count) {
  MT_SCOPE {
    mt_tensor* loss = NULL;
    mt_trace_call(trace, batch, count, &loss, 1);
  }
}

// ------------------------------------------------- LeNet-5: weight and bias of five layers, SGD
enum { lenet_parameters = 10 };

static mt_tensor* lenet(mt_tensor** in, mt_tensor* x) {
  mt_conv_options same = MT_CONV_OPTIONS_INIT;
  same.padding[0] = same.padding[1] = 2;
  x = mt_max_pool2d(mt_relu(mt_conv2d(x, in[0], in[1], &same)), 2, 2, NULL);
  x = mt_max_pool2d(mt_relu(mt_conv2d(x, in[2], in[3], NULL)), 2, 2, NULL);
  x = mt_reshape(x, MT_DIMS(-1, 400));
  x = mt_relu(mt_linear(x, in[4], in[5]));
  x = mt_relu(mt_linear(x, in[6], in[7]));
  return mt_linear(x, in[8], in[9]);
}
static mt_status lenet_function(void* user, mt_tensor* const* batch, size_t nbatch,
                                mt_tensor** results, size_t nresults) {
  mt_tensor** in = user;
  (void)nbatch, (void)nresults;
  results[0] = mt_cross_entropy(lenet(in, batch[0]), batch[1], -1, MT_REDUCTION_MEAN);
  mt_backward(results[0]);
  mt_sgd(in, lenet_parameters, 0.05);
  return mt_zero_grad(in, lenet_parameters);
}
static void lenet_open(mt_tensor** in) { differentiable(in, lenet_parameters); }
static void lenet_step(mt_tensor** in) { step_recorded(lenet_function, in, lenet_parameters); }
static void lenet_trace(mt_tensor** in) {
  lenet_open(in);
  trace = mt_trace_new(lenet_function, in);
}
static void lenet_replay(mt_tensor** in) { replay(in + lenet_parameters, 2); }

// ---------------------------------------- the transformer: rows.py has the order of parameters
enum { blocks = 6, heads = 4, in_block = 12, gpt_parameters = 2 + blocks * in_block + 3 };

// x [n, context, width] with in_proj's and out_proj's weight and bias.
static mt_tensor* attention(mt_tensor** in, mt_tensor* x) {
  int64_t n = mt_dim(x, 0), context = mt_dim(x, 1), width = mt_dim(x, 2);
  mt_tensor* all =
      mt_reshape(mt_linear(x, in[0], in[1]), MT_DIMS(n, context, 3, heads, width / heads));
  all = mt_permute_dims(all, MT_DIMS(2, 0, 3, 1, 4));
  mt_attention_options causal = MT_ATTENTION_OPTIONS_INIT;
  causal.causal = true;
  mt_tensor* y = mt_scaled_dot_product_attention(mt_select(all, 0, 0), mt_select(all, 0, 1),
                                                 mt_select(all, 0, 2), NULL, &causal);
  y = mt_reshape(mt_transpose(y, 1, 2), MT_DIMS(n, context, width));
  return mt_linear(y, in[2], in[3]);
}
static mt_tensor* norm(mt_tensor** in, mt_tensor* x) {
  return mt_layer_norm(x, 1, in[0], in[1], 1e-5);
}

static mt_tensor* grow_and_shrink(mt_tensor** b, mt_tensor* x) {
  return mt_linear(mt_gelu_tanh(mt_linear(x, b[8], b[9])), b[10], b[11]);
}

static mt_tensor* transformer(mt_tensor** in, mt_tensor* symbols) {
  mt_tensor* x = mt_add(mt_embedding(symbols, in[0]), in[1]);
  mt_tensor** b = in + 2;
  for (int i = 0; i < blocks; i++, b += in_block) {
    x = mt_add(x, attention(b + 2, norm(b, x)));
    x = mt_add(x, grow_and_shrink(b, norm(b + 6, x)));
  }
  return norm(b, x);
}
static mt_tensor* gpt_loss(mt_tensor** in, mt_tensor* symbols, mt_tensor* next) {
  mt_tensor* logits = mt_linear(transformer(in, symbols), in[gpt_parameters - 1], NULL);
  return mt_cross_entropy(logits, next, -1, MT_REDUCTION_MEAN);
}
static mt_status gpt_function(void* user, mt_tensor* const* batch, size_t nbatch,
                              mt_tensor** results, size_t nresults) {
  (void)nbatch, (void)nresults;
  results[0] = gpt_loss(user, batch[0], batch[1]);
  mt_backward(results[0]);
  mt_optimizer_step(optimizer);
  return mt_parameters_zero_grad(collection);
}
static void gpt_open(mt_tensor** in) {
  collection = mt_parameters_new(MT_F32, NULL);
  for (int i = 0; i < gpt_parameters; i++) {
    char name[16];
    snprintf(name, sizeof name, "p%d", i);
    mt_parameters_add(collection, name, mt_require_grad(in[i]));
  }
  optimizer = mt_optimizer_adamw(collection, 1e-3, NULL);
  trace = mt_trace_new(gpt_function, in);
}
static void gpt_step(mt_tensor** in) { replay(in + gpt_parameters, 2); }
// The loss of what training has made.
static mt_tensor* gpt_value(mt_tensor** in) {
  return gpt_loss(in, in[gpt_parameters], in[gpt_parameters + 1]);
}
static void gpt_close(void) {
  close_trace();
  mt_optimizer_release(optimizer);
  mt_parameters_release(collection);
}

// What may follow the last of the symbols [1, context].
static mt_status token_function(void* user, mt_tensor* const* batch, size_t nbatch,
                                mt_tensor** results, size_t nresults) {
  mt_tensor** in = user;
  (void)nbatch, (void)nresults;
  mt_tensor* last = mt_select(transformer(in, batch[0]), 1, -1);
  results[0] = mt_linear(last, in[gpt_parameters - 1], NULL);
  return mt_error();
}
static void token_open(mt_tensor** in) { trace = mt_trace_new(token_function, in); }
static mt_tensor* gpt_token(mt_tensor** in) {
  mt_tensor* logits = NULL;
  mt_trace_call(trace, in + gpt_parameters, 1, &logits, 1);
  return logits;
}

// ---------------------------- the same with the keys and values of the symbols before it kept
static mt_layer* kept_blocks[blocks];
static mt_tensor* kept[blocks];

// What may follow batch[0], a symbol [1], at batch[1], its place [1].
static mt_status kept_function(void* user, mt_tensor* const* batch, size_t nbatch,
                               mt_tensor** results, size_t nresults) {
  mt_tensor** in = user;
  (void)nbatch, (void)nresults;
  mt_tensor* x = mt_add(mt_embedding(batch[0], in[0]), mt_embedding(batch[1], in[1]));
  for (int i = 0; i < blocks; i++) x = mt_apply_kept(kept_blocks[i], x, kept[i], batch[1]);
  results[0] = mt_linear(norm(in + gpt_parameters - 3, x), in[gpt_parameters - 1], NULL);
  return mt_error();
}
static mt_tensor* kept_call(mt_tensor** in, int64_t at) {
  mt_tensor* batch[] = {mt_select(in[gpt_parameters], 1, at),
                        mt_full(MT_DIMS(1), (double)at, MT_I64, NULL)};
  mt_tensor* logits = NULL;
  mt_trace_call(trace, batch, 2, &logits, 1);
  return logits;
}
// Of the symbols [1, context] the last is asked about; the others are there.
static void kept_open(mt_tensor** in) {
  static const char* const names[in_block] = {"norm1.weight",
                                              "norm1.bias",
                                              "self_attn.in_proj_weight",
                                              "self_attn.in_proj_bias",
                                              "self_attn.out_proj.weight",
                                              "self_attn.out_proj.bias",
                                              "norm2.weight",
                                              "norm2.bias",
                                              "linear1.weight",
                                              "linear1.bias",
                                              "linear2.weight",
                                              "linear2.bias"};
  int64_t context = mt_dim(in[1], 0), width = mt_dim(in[1], 1);
  mt_transformer_options how = MT_TRANSFORMER_OPTIONS_INIT;
  how.activation = "gelu_tanh(a)", how.causal = true;
  collection = mt_parameters_new(MT_F32, NULL);
  for (int i = 0; i < blocks; i++) MT_NO_GRAD {
      char name[64];
      snprintf(name, sizeof name, "block%d", i);
      kept_blocks[i] = mt_layer_transformer(collection, name, width, heads, &how);
      for (int k = 0; k < in_block; k++) {
        snprintf(name, sizeof name, "block%d.%s", i, names[k]);
        mt_assign(mt_parameters_get(collection, name), in[2 + i * in_block + k]);
      }
      kept[i] = mt_take(mt_kept_zeros(kept_blocks[i], NULL, 0, context));
    }
  trace = mt_trace_new(kept_function, in);
  for (int64_t at = 0; at + 1 < context; at++) MT_NO_GRAD MT_SCOPE {
      kept_call(in, at);
    }
}
static mt_tensor* gpt_kept(mt_tensor** in) {
  mt_tensor* logits = NULL;
  MT_NO_GRAD { logits = kept_call(in, mt_dim(in[1], 0) - 1); }
  return logits;
}
static void kept_close(void) {
  close_trace();
  for (int i = 0; i < blocks; i++) mt_release(kept[i]);
  mt_parameters_release(collection);
}

const row network_rows[] = {
    {.name = "lenet_step", .step = lenet_step, .changed = lenet_parameters, .open = lenet_open},
    {.name = "lenet_replay",
     .step = lenet_replay,
     .changed = lenet_parameters,
     .open = lenet_trace,
     .close = close_trace},
    {.name = "gpt_step",
     .step = gpt_step,
     .value = gpt_value,
     .open = gpt_open,
     .close = gpt_close},
    {.name = "gpt_token", .value = gpt_token, .open = token_open, .close = close_trace},
    {.name = "gpt_kept", .value = gpt_kept, .open = kept_open, .close = kept_close},
    {0},
};
