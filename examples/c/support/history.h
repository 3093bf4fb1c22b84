// SPDX-License-Identifier: Apache-2.0
// Loss and accuracy after each epoch, on what was trained on (0) and on what was held out (1).
#ifndef EXAMPLES_SUPPORT_HISTORY_H
#define EXAMPLES_SUPPORT_HISTORY_H

#include "picture.h"

typedef struct {
  double loss, accuracy;  // accuracy in percent
} score;

typedef struct {
  size_t count, room;
  double *epoch, *loss[2], *accuracy[2];
} history;

history history_start(int epochs);  // without memory it stays empty
void history_add(history* h, score trained_on, score held_out);
// The index of the best accuracy on what was held out (1) or trained on (0), the first of equals.
size_t history_best(const history* h, int which);
// The last and the best figures, and the time of an epoch; `seconds` is that of all.
void history_print(const history* h, double seconds);
// The same figures, and the curves, as panels of a page.
void history_draw_figures(const history* h, picture* p, double seconds);
void history_draw_curves(const history* h, picture* p, const char* loss_label);
void history_free(history* h);

#endif
