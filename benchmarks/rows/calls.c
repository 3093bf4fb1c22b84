// SPDX-License-Identifier: Apache-2.0
// What a call costs, whatever the arithmetic.
#include "rows.h"

enum { adds = 64 };

static mt_tensor* add(mt_tensor** in) { return mt_add(in[0], in[1]); }

// Recorded and dropped: nothing asks for the values, so nothing is computed.
static void record(mt_tensor** in, int64_t times) {
  while (times > 0) {
    MT_SCOPE {
      for (int i = 0; i < adds; i++) mt_add(in[0], in[1]);
    }
    times -= adds;
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

// Each sum is an operand of the next.
static mt_trace* trace;
static mt_status chain(void* user, mt_tensor* const* in, size_t ninputs, mt_tensor** results,
                       size_t nresults) {
  (void)user, (void)ninputs, (void)nresults;
  results[0] = in[0];
  for (int i = 0; i < adds; i++) results[0] = mt_add(results[0], in[1]);
  return mt_error();
}
static void open_trace(mt_tensor** in) {
  (void)in;
  trace = mt_trace_new(chain, NULL);
}
static mt_tensor* replayed(mt_tensor** in) {
  mt_tensor* sum = NULL;
  mt_trace_call(trace, in, 2, &sum, 1);
  return sum;
}
static void close_trace(void) {
  mt_trace_release(trace);
  trace = NULL;
}

const row call_rows[] = {
    {.name = "record", .value = add, .run = record},
    {.name = "add4", .value = add, .run = add4},
    {.name = "adds_replay", .value = replayed, .open = open_trace, .close = close_trace},
    {0},
};
