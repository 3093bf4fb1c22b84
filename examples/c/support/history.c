// SPDX-License-Identifier: Apache-2.0
#include "history.h"

#include <stdio.h>
#include <stdlib.h>

history history_start(int epochs) {
  history h = {0};
  size_t room = epochs > 0 ? (size_t)epochs : 1;
  h.epoch = malloc(5 * room * sizeof *h.epoch);
  if (!h.epoch) return h;
  h.room = room;
  for (size_t s = 0; s < 2; s++) {
    h.loss[s] = h.epoch + (1 + s) * room;
    h.accuracy[s] = h.epoch + (3 + s) * room;
  }
  return h;
}

void history_add(history* h, score trained_on, score held_out) {
  if (h->count == h->room) return;
  size_t i = h->count++;
  h->epoch[i] = (double)h->count;
  h->loss[0][i] = trained_on.loss;
  h->loss[1][i] = held_out.loss;
  h->accuracy[0][i] = trained_on.accuracy;
  h->accuracy[1][i] = held_out.accuracy;
}

size_t history_best(const history* h, int which) {
  size_t best = 0;
  for (size_t i = 1; i < h->count; i++) {
    if (h->accuracy[which][i] > h->accuracy[which][best]) best = i;
  }
  return best;
}

void history_draw_figures(const history* h, picture* p, double seconds) {
  if (h->count == 0) return;
  char text[4][32];
  size_t best = history_best(h, 1);
  snprintf(text[0], sizeof text[0], "%.2f %%", h->accuracy[1][h->count - 1]);
  snprintf(text[1], sizeof text[1], "%.2f %%", h->accuracy[1][best]);
  snprintf(text[2], sizeof text[2], "%zu of %zu", best + 1, h->count);
  snprintf(text[3], sizeof text[3], "%.3g ms", 1e3 * seconds / (double)h->count);
  picture_figures(p,
                  (picture_figure[]){{"held out, at the end", text[0]},
                                     {"held out, at best", text[1]},
                                     {"best epoch", text[2]},
                                     {"training an epoch", text[3]}},
                  4);
}

void history_draw_curves(const history* h, picture* p, const char* loss_label) {
  static const char* const names[2] = {"trained on", "held out"};
  picture_series loss[2], accuracy[2];
  for (int s = 0; s < 2; s++) {
    loss[s] = (picture_series){names[s], h->epoch, h->loss[s], h->count};
    accuracy[s] = (picture_series){names[s], h->epoch, h->accuracy[s], h->count};
  }
  picture_curves(p, (picture_axes){"Loss", "epoch", loss_label, true, -1}, loss, 2);
  picture_curves(p, (picture_axes){"Accuracy", "epoch", "accuracy (%)", false, +1}, accuracy, 2);
}

void history_free(history* h) {
  free(h->epoch);
  *h = (history){0};
}

static void print_score(const char* name, const double* accuracy, size_t count, size_t best) {
  printf("%-11s %6.2f %% right, at best %6.2f %% (epoch %zu)\n", name, accuracy[count - 1],
         accuracy[best], best + 1);
}

void history_print(const history* h, double seconds) {
  if (h->count == 0) return;
  print_score("trained on:", h->accuracy[0], h->count, history_best(h, 0));
  print_score("held out:", h->accuracy[1], h->count, history_best(h, 1));
  printf("training:    %.3g ms an epoch\n", 1e3 * seconds / (double)h->count);
}
