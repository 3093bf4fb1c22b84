// SPDX-License-Identifier: Apache-2.0
// What a module of rows exports, ours and each peer's alike, so that the runner can load both into
// one process and time them in turn.
#ifndef BENCHMARKS_MODULE_H_
#define BENCHMARKS_MODULE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench;

#define BENCH_API __attribute__((visibility("default")))

enum { BENCH_F32 = 0, BENCH_F64 = 1, BENCH_I64 = 2 };

typedef struct bench_array {
  const void* data;  // row-major
  const int64_t* dims;
  int64_t ndim;
  int32_t type;
} bench_array;

BENCH_API const char* bench_version(void);
BENCH_API void bench_set_threads(int threads);
// Ours alone: where rows that are opened from now on lie; the device's name, or why it is not
// there.
BENCH_API const char* bench_set_device(const char* device);
// Ours alone: until the device has done all it was told to.
BENCH_API void bench_wait(void);
// Copies the inputs and prepares the row; NULL when the module does not have it, or failed.
BENCH_API struct bench* bench_open(const char* row, const bench_array* inputs, int64_t count);
// Does the row's work so many times.
BENCH_API void bench_run(struct bench* bench, int64_t times);
// Writes what the work made: the value, or the first inputs as training has left them. Returns how
// many numbers there are, and -1 for more than there is room for or after an error.
BENCH_API int64_t bench_result(struct bench* bench, double* results, int64_t room);
BENCH_API void bench_close(struct bench* bench);
// What went wrong, or "".
BENCH_API const char* bench_message(void);

#ifdef __cplusplus
}
#endif
#endif
