// SPDX-License-Identifier: Apache-2.0
// Training steps of perceptrons, and AdamW's alone. The inputs are the parameters, then the batch,
// then the targets.
#include <stdio.h>

#include "rows.h"

static mt_trace* trace;
static mt_parameters* collection;
static mt_optimizer* optimizer;

// Linear layers with relu between them; `in` holds weight and bias of each.
static mt_tensor* perceptron(mt_tensor** in, int layers, mt_tensor* x) {
  for (int i = 0; i < layers; i++) {
    x = mt_linear(x, in[2 * i], in[2 * i + 1]);
    if (i + 1 < layers) x = mt_relu(x);
  }
  return x;
}

static void descend(mt_tensor* loss, mt_tensor** parameters, size_t count, double rate) {
  mt_backward(loss);
  mt_sgd(parameters, count, rate);
  mt_zero_grad(parameters, count);
}

// --------------------------------------------- MiniTorch's: 2-100-100-1, batch 10, SGD
static mt_status minitorch_function(void* user, mt_tensor* const* batch, size_t nbatch,
                                    mt_tensor** results, size_t nresults) {
  mt_tensor** in = user;
  (void)nbatch, (void)nresults;
  mt_tensor* logits = mt_reshape(perceptron(in, 3, batch[0]), MT_DIMS(10));
  results[0] = mt_bce_with_logits(logits, batch[1], MT_REDUCTION_MEAN);
  descend(results[0], in, 6, 0.05);
  return mt_error();
}
static void minitorch_open(mt_tensor** in) { differentiable(in, 6); }
static void minitorch_step(mt_tensor** in) { step_recorded(minitorch_function, in, 6); }
static void minitorch_trace(mt_tensor** in) {
  minitorch_open(in);
  trace = mt_trace_new(minitorch_function, in);
}
static void replay(mt_tensor* const* batch) {
  MT_SCOPE {
    mt_tensor* loss;
    mt_trace_call(trace, batch, 2, &loss, 1);
  }
}
static void minitorch_replay(mt_tensor** in) { replay(in + 6); }
static void close_trace(void) {
  mt_trace_release(trace);
  trace = NULL;
}

// ---------------------------------------------------- MNIST's: 784-100-10, batch 128, SGD
static mt_status mnist_function(void* user, mt_tensor* const* batch, size_t nbatch,
                                mt_tensor** results, size_t nresults) {
  mt_tensor** in = user;
  (void)nbatch, (void)nresults;
  results[0] = mt_cross_entropy(perceptron(in, 2, batch[0]), batch[1], -1, MT_REDUCTION_MEAN);
  descend(results[0], in, 4, 0.05);
  return mt_error();
}
static void mnist_open(mt_tensor** in) { differentiable(in, 4); }
static void mnist_step(mt_tensor** in) { step_recorded(mnist_function, in, 4); }
static void mnist_trace(mt_tensor** in) {
  mnist_open(in);
  trace = mt_trace_new(mnist_function, in);
}
static void mnist_replay(mt_tensor** in) { replay(in + 4); }

// --------------------------------------- AdamW: tensors, then as many gradients
static void adamw_open(mt_tensor** in) {
  int count = 0;
  while (2 * count < most_inputs && in[2 * count]) count++;
  collection = mt_parameters_new(MT_F32, NULL);
  for (int i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "p%d", i);
    mt_parameters_add(collection, name, in[i]);
    mt_set_gradient(in[i], in[count + i]);
  }
  optimizer = mt_optimizer_adamw(collection, 1e-3, NULL);
}
static void adamw_step(mt_tensor** in) {
  (void)in;
  mt_optimizer_step(optimizer);
  mt_eval(NULL, 0);
}
static void adamw_close(void) {
  mt_optimizer_release(optimizer);
  mt_parameters_release(collection);
}

const row training_rows[] = {
    {.name = "minitorch_step", .step = minitorch_step, .changed = 6, .open = minitorch_open},
    {.name = "minitorch_replay",
     .step = minitorch_replay,
     .changed = 6,
     .open = minitorch_trace,
     .close = close_trace},
    {.name = "mnist_step", .step = mnist_step, .changed = 4, .open = mnist_open},
    {.name = "mnist_replay",
     .step = mnist_replay,
     .changed = 4,
     .open = mnist_trace,
     .close = close_trace},
    {.name = "adamw", .step = adamw_step, .changed = 100, .open = adamw_open, .close = adamw_close},
    {.name = "adamw_one",
     .step = adamw_step,
     .changed = 1,
     .open = adamw_open,
     .close = adamw_close},
    {.name = "adamw_small",
     .step = adamw_step,
     .changed = 300,
     .open = adamw_open,
     .close = adamw_close},
    {0},
};
