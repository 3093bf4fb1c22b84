// SPDX-License-Identifier: Apache-2.0
// What a call costs, whatever the arithmetic.
#include <stddef.h>

#include "rows.h"

static mt_tensor* add(mt_tensor** in) { return mt_add(in[0], in[1]); }

// Recorded and dropped: nothing asks for the values, so nothing is computed.
static void record(mt_tensor** in, int64_t times) {
  while (times > 0) {
    MT_SCOPE {
      for (int i = 0; i < 64; i++) mt_add(in[0], in[1]);
    }
    times -= 64;
  }
}

// Computed at once and released, as a program does that opens no scope.
static void add4(mt_tensor** in, int64_t times) {
  for (; times > 0; times--) {
    mt_tensor* sum = mt_add(in[0], in[1]);
    mt_eval(&sum, 1);
    mt_release(sum);
  }
}

const row call_rows[] = {
    {.name = "record", .value = add, .run = record},
    {.name = "add4", .value = add, .run = add4},
    {0},
};
