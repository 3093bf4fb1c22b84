// SPDX-License-Identifier: Apache-2.0
// Checks the examples' support code: data, and one page with every kind of panel to look at.
//   selftest DIGITS_CSV_GZ FOLDER
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits_data.h"
#include "picture.h"
#include "png.h"
#include "points_data.h"
#include "progress.h"
#include "text_data.h"

static int failures;

static void check_line(bool good, const char* what, int line) {
  if (good) return;
  fprintf(stderr, "selftest.c:%d: failed: %s\n", line, what);
  failures++;
}
#define CHECK(condition) check_line(condition, #condition, __LINE__)

static void check_points(void) {
  uint64_t state = 1234567;  // the first values that Vigna's splitmix64.c gives for this seed
  CHECK(random_bits(&state) == 6457827717110365317u);
  CHECK(random_bits(&state) == 3203168211198807973u);

  enum { count = 1000 };
  static float x[2 * count], label[count], again[2 * count];
  for (int set = 0; set < 6; set++) {
    CHECK(points_make(points_names[set], count, 7, x, label));
    double ones = 0;
    for (int i = 0; i < count; i++) ones += label[i];
    CHECK(ones > 50 && ones < 950);
    points_make(points_names[set], count, 7, again, label);
    CHECK(memcmp(x, again, sizeof x) == 0);
  }
  CHECK(points_make("Spiral", 50, 0, x, label));
  CHECK(fabs(x[0] - (2 * cos(2) / 20 + 0.5)) < 1e-6 && label[0] == 0);
  CHECK(fabs(x[50] - (2 * sin(2) / 20 + 0.5)) < 1e-6 && label[25] == 1);
  CHECK(!points_make("square", count, 7, x, label));
}

static void check_digits(const char* path, digits_set* held_out) {
  digits_set train;
  CHECK(digits_read(path, &train, held_out));
  CHECK(train.count == 1438 && held_out->count == 359);
  for (int64_t i = 0; i < train.count; i++) CHECK(train.label[i] >= 0 && train.label[i] <= 9);
  CHECK(train.count > 0 && train.pixels[2] == 5.0f / 16);
  digits_free(&train);
}

static void check_text(const char* folder) {
  char path[512];
  snprintf(path, sizeof path, "%s/selftest.txt", folder);
  FILE* file = fopen(path, "w");
  CHECK(file != NULL);
  if (!file) return;
  fputs("banana", file);
  fclose(file);
  text_data text;
  CHECK(text_read(path, &text));
  CHECK(text.length == 6 && text.symbols == 3 && memcmp(text.byte, "abn", 3) == 0);
  CHECK(text.length == 6 && text.symbol[0] == 1 && text.symbol[5] == 0);
  text_free(&text);
  remove(path);
}

static void check_png(void) {
  const uint8_t clear[4] = {0};
  char* uri = png_data_uri(clear, 1, 1);
  CHECK(uri &&
        strncmp(uri, "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
                strlen("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ")) == 0);
  free(uri);
}

static void draw_page(const char* folder, const digits_set* digits) {
  char path[512];
  snprintf(path, sizeof path, "%s/selftest.html", folder);
  picture* p = picture_open(path, "Support code <self test>", "made-up curves, real data");
  CHECK(p != NULL);
  picture_figures(p,
                  (picture_figure[]){{"held out", "97.2 %"},
                                     {"best epoch", "23"},
                                     {"an epoch", "1.3 ms"},
                                     {"parameters", "10,501"}},
                  4);

  enum { epochs = 60, size = 64 };
  double epoch[epochs], loss[2][epochs], accuracy[2][epochs];
  uint64_t state = 5;
  for (int i = 0; i < epochs; i++) {
    epoch[i] = i + 1;
    for (int s = 0; s < 2; s++) {
      loss[s][i] = 0.7 * exp(-0.06 * i) + 0.06 * s + 0.02 * random_uniform(&state);
      accuracy[s][i] = 100 - 50 * exp(-0.09 * i) - 2 * s + random_uniform(&state) - 1;
    }
  }
  picture_curves(p, (picture_axes){"Loss", "epoch", "cross-entropy (nats)", true, -1},
                 (picture_series[]){{"trained on", epoch, loss[0], epochs},
                                    {"held out", epoch, loss[1], epochs}},
                 2);
  picture_curves(p, (picture_axes){"Accuracy", "epoch", "accuracy (%)", false, +1},
                 (picture_series[]){{"trained on", epoch, accuracy[0], epochs},
                                    {"held out", epoch, accuracy[1], epochs}},
                 2);

  static float probability[size * size], x[100], label[50];
  points_make("circle", 50, 1, x, label);
  for (int i = 0; i < size * size; i++) {
    double a = (i % size + 0.5) / size - 0.5, b = (i / size + 0.5) / size - 0.5;
    probability[i] = (float)(1 / (1 + exp(-40 * (a * a + b * b - 0.1))));
  }
  picture_boundary(p, "What the network believes", probability, size, 0, 1, x, label, 50);

  int64_t counts[100] = {0};
  for (int64_t i = 0; i < digits->count; i++) {
    int64_t guess = i % 17 == 0 ? (digits->label[i] * 3 + 5) % 10 : digits->label[i];
    counts[digits->label[i] * 10 + guess]++;
  }
  picture_confusion(p, "Held-out digits", counts, 10);
  picture_image images[12];
  for (int i = 0; i < 12 && i < digits->count; i++) {
    images[i] = (picture_image){digits->pixels + 64 * i, (int)digits->label[i], (i * 7) % 10};
  }
  picture_mistakes(p, "Mistaken digits", images, digits->count < 12 ? 0 : 12, 8, 8);
  const char* text =
      "First Citizen:\nBefore we proceed any further, hear me <speak> & be \"done\".\n";
  picture_text(p, "A sample", text, strlen(text));
  CHECK(picture_close(p));
  CHECK(picture_open("/nowhere/at/all.html", "", "") == NULL);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "Usage: %s DIGITS_CSV_GZ FOLDER\n", argv[0]);
    return 2;
  }
  check_points();
  digits_set digits;
  check_digits(argv[1], &digits);
  check_text(argv[2]);
  check_png();
  draw_page(argv[2], &digits);
  digits_free(&digits);
  progress line = progress_start("epoch", 20);
  for (int i = 1; i <= 20; i++) progress_show(&line, i, "loss %.3f", 1.0 / i);
  progress_end(&line);
  return failures > 0;
}
