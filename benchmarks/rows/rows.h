// SPDX-License-Identifier: Apache-2.0
// Our rows: what each does through the C API. A row is one or several expressions, computed anew
// each time, or a step that changes its first inputs.
#ifndef BENCHMARKS_ROWS_ROWS_H_
#define BENCHMARKS_ROWS_ROWS_H_

#include <mtorch/mtorch.h>
#include <stddef.h>

enum { most_inputs = 1024, most_values = 8 };

typedef struct row {
  const char* name;
  mt_tensor* (*value)(mt_tensor** in);
  void (*values)(mt_tensor** in, mt_tensor** made);  // instead of `value`, for several
  int count;                                         // of them
  void (*step)(mt_tensor** in);                      // `value`, if any, is read after the steps
  int changed;                                       // how many of the first inputs a step changes
  bool unfused;                                      // runs with mt_set_eager()
  void (*open)(mt_tensor** in);                      // or NULL
  void (*close)(void);                               // or NULL
  void (*run)(mt_tensor** in,
              int64_t times);  // instead of computing the values one by one, or NULL
} row;

// Each ends with a row that has no name.
extern const row call_rows[], math_rows[], elementwise_rows[], row_rows[], index_rows[],
    matrix_rows[], layer_rows[], training_rows[], network_rows[], device_rows[];

// The gradients to the first inputs, for the gradient of the value (or NULL: one); without a
// history of their own, as the peers'.
static inline void gradients(mt_tensor* value, mt_tensor* of_value, mt_tensor** in, size_t count,
                             mt_tensor** made) {
  bool mode = mt_set_grad_mode(false);
  mt_grad(&value, 1, in, count, of_value ? &of_value : NULL, made);
  mt_set_grad_mode(mode);
  mt_release(mt_take(value));  // or it would be computed, being held
}

// A training step that is recorded anew: `in` holds the parameters, a batch and its targets. What
// the layers made is let go of before anything is computed, as at a replay; or it would be stored.
static inline void step_recorded(mt_function step, mt_tensor** in, size_t parameters) {
  mt_tensor* wanted[16];
  for (size_t i = 0; i < parameters; i++) wanted[i] = in[i];
  mt_tensor** loss = wanted + parameters;
  MT_SCOPE {
    step(in, in + parameters, 2, loss, 1);
    mt_take(*loss);
  }
  mt_eval(wanted, parameters + 1);
  mt_release(*loss);
}

static inline void differentiable(mt_tensor** in, size_t count) {
  for (size_t i = 0; i < count; i++) mt_require_grad(in[i]);
}
static inline void differentiable1(mt_tensor** in) { differentiable(in, 1); }
static inline void differentiable2(mt_tensor** in) { differentiable(in, 2); }
static inline void differentiable3(mt_tensor** in) { differentiable(in, 3); }

#endif
