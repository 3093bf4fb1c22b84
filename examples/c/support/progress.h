// SPDX-License-Identifier: Apache-2.0
// One line that says how far training is: rewritten in place on a terminal, ten lines elsewhere.
#ifndef EXAMPLES_SUPPORT_PROGRESS_H
#define EXAMPLES_SUPPORT_PROGRESS_H

#include <stdbool.h>

typedef struct {
  const char* unit;  // "epoch", "step"
  int total;
  bool terminal;
  double start, last_shown;  // seconds
  int last_tenth;
} progress;

progress progress_start(const char* unit, int total);

// After `done` of `total`; the figures read like printf, say "loss %.3f  held out %.1f %%".
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void progress_show(progress *p, int done, const char *figures, ...);

void progress_end(progress* p);

double progress_seconds(void);  // since some fixed moment

#endif
