// SPDX-License-Identifier: Apache-2.0
// The module of our rows, on libmtorch.so.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../row.h"
#include "rows.h"

struct bench {
  const row* row;
  mt_tensor* inputs[most_inputs];
  int64_t count;
};

static const row* find(const char* name) {
  const row* const families[] = {call_rows, elementwise_rows, matrix_rows, training_rows};
  for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
    for (const row* r = families[f]; r->name; r++) {
      if (!strcmp(r->name, name)) return r;
    }
  }
  return NULL;
}

const char* bench_version(void) { return mt_version_text(); }

void bench_set_threads(int threads) { mt_set_threads(threads); }

struct bench* bench_open(const char* name, const bench_array* arrays, int64_t count) {
  mt_clear();
  const row* found = find(name);
  struct bench* bench = found && count <= most_inputs ? calloc(1, sizeof *bench) : NULL;
  if (!bench) return NULL;
  bench->row = found;
  for (; bench->count < count; bench->count++) {
    const bench_array* a = &arrays[bench->count];
    bench->inputs[bench->count] =
        mt_from_data(a->data, a->dims, (size_t)a->ndim, a->integers ? MT_I64 : MT_F32, NULL);
  }
  if (found->open) found->open(bench->inputs);
  if (!mt_error()) return bench;
  bench_close(bench);
  return NULL;
}

static void compute(mt_tensor* (*expression)(mt_tensor**), mt_tensor** in) {
  MT_SCOPE {
    mt_tensor* value = expression(in);
    mt_eval(&value, 1);
  }
}

void bench_run(struct bench* bench, int64_t times) {
  const row* r = bench->row;
  if (r->run) {
    r->run(bench->inputs, times);
  } else if (r->step) {
    for (int64_t i = 0; i < times; i++) r->step(bench->inputs);
  } else {
    if (r->unfused) mt_set_eager(true);
    for (int64_t i = 0; i < times; i++) compute(r->value, bench->inputs);
    if (r->unfused) mt_set_eager(false);
  }
}

static int64_t write(mt_tensor* tensor, float* results, int64_t room) {
  int64_t size = mt_size(tensor);
  if (size < 0 || size > room) return -1;
  return mt_copy_to_host(tensor, results, sizeof(float) * (size_t)size) ? -1 : size;
}

int64_t bench_result(struct bench* bench, float* results, int64_t room) {
  int64_t total = 0;
  if (!bench->row->step) {
    MT_SCOPE { total = write(bench->row->value(bench->inputs), results, room); }
  }
  for (int i = 0; i < bench->row->changed && total >= 0; i++) {
    int64_t size = write(bench->inputs[i], results + total, room - total);
    total = size < 0 ? size : total + size;
  }
  return mt_error() ? -1 : total;
}

void bench_close(struct bench* bench) {
  if (bench->row->close) bench->row->close();
  while (bench->count > 0) mt_release(bench->inputs[--bench->count]);
  free(bench);
  mt_release_cached_memory(NULL);
}

const char* bench_message(void) { return mt_error() ? mt_error_message() : ""; }
