// SPDX-License-Identifier: Apache-2.0
// Our rows: what each does through the C API. A row is an expression, computed anew each time, or a
// step that changes its first inputs.
#ifndef BENCHMARKS_ROWS_ROWS_H_
#define BENCHMARKS_ROWS_ROWS_H_

#include <mtorch/mtorch.h>

enum { most_inputs = 1024 };

typedef struct row {
  const char* name;
  mt_tensor* (*value)(mt_tensor** in);
  void (*step)(mt_tensor** in);
  int changed;                                 // how many of the first inputs a step changes
  bool unfused;                                // runs with mt_set_eager()
  void (*open)(mt_tensor** in);                // or NULL
  void (*close)(void);                         // or NULL
  void (*run)(mt_tensor** in, int64_t times);  // instead of computing `value` one by one, or NULL
} row;

extern const row call_rows[], elementwise_rows[], matrix_rows[], training_rows[];  // end: no name

#endif
