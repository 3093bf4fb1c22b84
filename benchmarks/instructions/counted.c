// SPDX-License-Identifier: Apache-2.0
// What instructions.py counts: functions named counted_..., each called a few times, of which the
// last call counts. One thread, so that the count is the same every time.
#include <mtorch/mtorch.h>
#include <stdio.h>

enum { calls = 3, adds = 64, layers = 10 };

#define COUNTED(name) __attribute__((noinline, noclone)) void counted_##name(mt_tensor** in)

static mt_trace* trace;

COUNTED(record) {
  MT_SCOPE {
    for (int i = 0; i < adds; i++) mt_add(in[0], in[0]);
  }
}

COUNTED(eager_add) {
  for (int i = 0; i < adds; i++) {
    mt_tensor* sum = mt_add(in[0], in[0]);
    mt_eval(&sum, 1);
    mt_release(sum);
  }
}

static void evaluate(mt_tensor* value) { mt_eval(&value, 1); }

// 0.5 x (1 + tanh(0.79788 (x + 0.044715 x^3))) in nine operators.
COUNTED(fused_chain) {
  MT_SCOPE {
    mt_tensor *x = in[1], *cube = mt_mul(mt_mul(x, x), x);
    mt_tensor* inner = mt_add(x, mt_mul(cube, mt_number(0.044715)));
    mt_tensor* t = mt_tanh(mt_mul(inner, mt_number(0.7978845608028654)));
    evaluate(mt_mul(mt_mul(x, mt_add(t, mt_number(1))), mt_number(0.5)));
  }
}

COUNTED(softmax) {
  MT_SCOPE { evaluate(mt_softmax(in[1], -1)); }
}

COUNTED(sum) {
  MT_SCOPE { evaluate(mt_sum(in[1], NULL, 0)); }
}

COUNTED(matmul) {
  MT_SCOPE { evaluate(mt_matmul(in[2], in[2])); }
}

// MiniTorch's step: 2-100-100-1, batch 10; parameters from in[3] on.
static mt_status step(void* user, mt_tensor* const* batch, size_t nbatch, mt_tensor** results,
                      size_t nresults) {
  mt_tensor **p = user, *x = batch[0];
  (void)nbatch, (void)nresults;
  for (int i = 0; i < 6; i += 2) {
    x = mt_linear(x, p[i], p[i + 1]);
    if (i < 4) x = mt_relu(x);
  }
  results[0] = mt_bce_with_logits(x, batch[1], MT_REDUCTION_MEAN);
  mt_backward(results[0]);
  mt_sgd(p, 6, 0.05);
  return mt_zero_grad(p, 6);
}

COUNTED(training_step) {
  MT_SCOPE {
    mt_tensor* wanted[7] = {in[3], in[4], in[5], in[6], in[7], in[8]};
    step(in + 3, in + 9, 2, wanted + 6, 1);
    mt_eval(wanted, 7);
  }
}

COUNTED(replayed_step) {
  MT_SCOPE {
    mt_tensor* loss = NULL;
    mt_trace_call(trace, in + 9, 2, &loss, 1);
  }
}

// A graph of about 100 nodes that no call before has had, over few numbers: planning is what costs.
COUNTED(new_plan) {
  static unsigned call;
  call++;
  MT_SCOPE {
    mt_tensor* x = in[0];
    for (unsigned i = 0; i < layers; i++) {
      x = mt_add(mt_matmul(x, in[0]), mt_sum_keep(mt_square(x), MT_DIMS(1)));
      x = (call >> i % 2) % 2 ? mt_tanh(mt_mul(x, in[0])) : mt_mul(mt_exp(mt_neg(x)), in[0]);
      x = mt_div(mt_sub(x, mt_mean_keep(x, MT_DIMS(1))), mt_add(mt_abs(x), mt_number(1)));
    }
    evaluate(x);
  }
}

COUNTED(end) {
  (void)in;
  __asm__ volatile("");  // or a compiler would leave the call out
}

static mt_tensor* numbers(const int64_t* dims, size_t ndim) {
  int64_t size = 1;
  for (size_t i = 0; i < ndim; i++) size *= dims[i];
  return mt_take(mt_reshape(mt_linspace(-0.1, 0.1, size, MT_F32, NULL), dims, ndim));
}

int main(void) {
  mt_set_threads(1);
  char* device = mt_device_description("cpu");
  printf("%s\n", device);
  mt_free_string(device);
  mt_tensor* in[] = {
      numbers(MT_DIMS(2, 2)),   numbers(MT_DIMS(64, 256)), numbers(MT_DIMS(64, 64)),
      numbers(MT_DIMS(100, 2)), numbers(MT_DIMS(100)),     numbers(MT_DIMS(100, 100)),
      numbers(MT_DIMS(100)),    numbers(MT_DIMS(1, 100)),  numbers(MT_DIMS(1)),
      numbers(MT_DIMS(10, 2)),  numbers(MT_DIMS(10, 1)),
  };
  for (int i = 3; i < 9; i++) mt_require_grad(in[i]);
  trace = mt_trace_new(step, in + 3);
  mt_eval(in, sizeof in / sizeof *in);
  void (*const counted[])(mt_tensor**) = {
      counted_record, counted_eager_add,     counted_fused_chain,   counted_softmax,  counted_sum,
      counted_matmul, counted_training_step, counted_replayed_step, counted_new_plan,
  };
  for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
    for (int call = 0; call < calls; call++) counted[i](in);
  }
  counted_end(in);
  mt_trace_release(trace);
  for (size_t i = 0; i < sizeof in / sizeof *in; i++) mt_release(in[i]);
  if (mt_error()) fprintf(stderr, "%s\n", mt_error_message());
  return mt_error() != MT_OK;
}
