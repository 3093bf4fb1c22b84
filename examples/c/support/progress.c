// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

double progress_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

progress progress_start(const char* unit, int total) {
  return (progress){.unit = unit,
                    .total = total,
                    .terminal = isatty(STDERR_FILENO) == 1,
                    .start = progress_seconds(),
                    .last_tenth = -1};
}

static void print_duration(double seconds) {
  if (seconds < 1e-3) {
    fprintf(stderr, "%.0f us", 1e6 * seconds);
  } else if (seconds < 1) {
    fprintf(stderr, "%.*f ms", seconds < 0.01 ? 1 : 0, 1e3 * seconds);
  } else {
    fprintf(stderr, "%.1f s", seconds);
  }
}

void progress_show(progress* p, int done, const char* figures, ...) {
  double now = progress_seconds();
  if (p->terminal) {  // ten times a second is as fast as anybody reads
    if (now - p->last_shown < 0.1 && done < p->total) return;
  } else {
    int tenth = p->total > 0 ? (int)(10.0 * done / p->total) : 10;
    if (tenth == p->last_tenth) return;
    p->last_tenth = tenth;
  }
  p->last_shown = now;

  double each = done > 0 ? (now - p->start) / done : 0;
  fprintf(stderr, "%s%s %d/%d  ", p->terminal ? "\r" : "", p->unit, done, p->total);
  va_list arguments;
  va_start(arguments, figures);
  vfprintf(stderr, figures, arguments);
  va_end(arguments);
  fputs("  ", stderr);
  print_duration(each);
  int left = (int)(each * (p->total - done) + 0.5);
  fprintf(stderr, "/%s  %d:%02d left%s", p->unit, left / 60, left % 60,
          p->terminal ? "\033[K" : "\n");  // clears what a longer line left behind
  fflush(stderr);
}

void progress_end(progress* p) {
  if (p->terminal) fputc('\n', stderr);
}
