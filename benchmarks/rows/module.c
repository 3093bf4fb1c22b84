// SPDX-License-Identifier: Apache-2.0
// The module of our rows, on libmtorch.so.
#include <stdlib.h>
#include <string.h>

#include "../module.h"
#include "rows.h"

struct bench {
  const row* row;
  mt_tensor* inputs[most_inputs];
  int64_t count;
};

static const row* find(const char* name) {
  const row* const families[] = {call_rows,    math_rows,   elementwise_rows, row_rows,
                                 index_rows,   matrix_rows, layer_rows,       training_rows,
                                 network_rows, device_rows};
  for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
    for (const row* r = families[f]; r->name; r++) {
      if (!strcmp(r->name, name)) return r;
    }
  }
  return NULL;
}

const char* bench_version(void) { return mt_version_text(); }

void bench_set_threads(int threads) { mt_set_threads(threads); }

static mt_tensor* marker;  // on the device

const char* bench_set_device(const char* device) {
  mt_clear();
  mt_release(marker);
  marker = NULL;
  if (mt_set_default_device(device)) return mt_error_message();
  marker = mt_copy(mt_ones(NULL, 0, MT_F32, device));
  mt_eval(&marker, 1);
  return mt_error() ? mt_error_message() : mt_default_device();
}

// What comes to the host has been waited for, and all that the device was told to do before.
void bench_wait(void) {
  float one;
  mt_copy_to_host(marker, &one, sizeof one);
}

struct bench* bench_open(const char* name, const bench_array* arrays, int64_t count) {
  static const mt_dtype types[] = {
      [BENCH_F32] = MT_F32, [BENCH_F64] = MT_F64, [BENCH_I64] = MT_I64};
  mt_clear();
  const row* found = find(name);
  struct bench* bench = found && count <= most_inputs ? calloc(1, sizeof *bench) : NULL;
  if (!bench) return NULL;
  bench->row = found;
  for (; bench->count < count; bench->count++) {
    const bench_array* a = &arrays[bench->count];
    bench->inputs[bench->count] =
        mt_from_data(a->data, a->dims, (size_t)a->ndim, types[a->type], NULL);
  }
  if (found->open) found->open(bench->inputs);
  if (!mt_error()) return bench;
  bench_close(bench);
  return NULL;
}

// Returns how many there are.
static size_t values(const row* r, mt_tensor** in, mt_tensor** made) {
  if (r->values) r->values(in, made);
  if (r->value) made[0] = r->value(in);
  return r->values ? (size_t)r->count : r->value ? 1 : 0;
}

static void compute(const row* r, mt_tensor** in) {
  MT_SCOPE {
    mt_tensor* made[most_values] = {0};
    size_t count = values(r, in, made);
    mt_eval(made, count);
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
    for (int64_t i = 0; i < times; i++) compute(r, bench->inputs);
    if (r->unfused) mt_set_eager(false);
  }
}

// Adds what it writes to *total, which becomes -1 when that fails.
static void write(mt_tensor* tensor, double* results, int64_t room, int64_t* total) {
  int64_t size = mt_size(tensor);
  if (*total < 0 || size < 0 || *total + size > room ||
      mt_copy_to_host(mt_astype(tensor, MT_F64), results + *total, sizeof(double) * (size_t)size)) {
    *total = -1;
  } else {
    *total += size;
  }
}

int64_t bench_result(struct bench* bench, double* results, int64_t room) {
  int64_t total = 0;
  MT_SCOPE {
    mt_tensor* made[most_values] = {0};
    size_t count = values(bench->row, bench->inputs, made);
    for (size_t i = 0; i < count; i++) write(made[i], results, room, &total);
    for (int i = 0; i < bench->row->changed; i++) write(bench->inputs[i], results, room, &total);
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
