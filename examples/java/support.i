// SPDX-License-Identifier: Apache-2.0
// What the Java examples share with those in C: data, a progress line, pictures.
%module SupportNative
%{
#include <stdio.h>
#include <stdlib.h>

#include "digits_data.h"
#include "history.h"
#include "picture.h"
#include "points_data.h"
#include "progress.h"
#include "text_data.h"

// One training in each process: the digits to train on (0) and those held out (1), and what is
// shown.
static digits_set digits[2];
static history scores;
static progress line;
static picture* page;
static text_data text;
static uint64_t random_state;
%}
%pragma(java) moduleclassmodifiers="final class"
%pragma(java) jniclassclassmodifiers="final class"
%pragma(java) jniclasscode=%{
  static {
    System.load(System.getProperty("examples.support"));
  }
%}

%include <stdint.i>
%include <arrays_java.i>
%apply long long { int64_t, uint64_t, size_t };
%apply long long[] { int64_t* };
%apply float[] { float* };
%apply int[] { int* };
%apply double[] { double* };
%apply signed char[] { signed char* };

bool points_make(const char* name, size_t count, uint64_t seed, float* x, float* label);
double progress_seconds(void);

%inline %{
static bool digits_open(const char* path) { return digits_read(path, &digits[0], &digits[1]); }
static int64_t digits_count(int which) { return digits[which].count; }
static void digits_take(int which, float* pixels, int64_t* labels) {
  for (int64_t i = 0; i < digits[which].count * digits_pixels; i++) {
    pixels[i] = digits[which].pixels[i];
  }
  for (int64_t i = 0; i < digits[which].count; i++) labels[i] = digits[which].label[i];
  digits_free(&digits[which]);
}

static bool text_open(const char* path) { return text_read(path, &text); }
static int64_t text_length(void) { return text.length; }
static int text_symbols(void) { return text.symbols; }
static void text_take(int64_t* symbols, signed char* alphabet) {
  for (int64_t i = 0; i < text.length; i++) symbols[i] = text.symbol[i];
  for (int i = 0; i < text.symbols; i++) alphabet[i] = (signed char)text.byte[i];
  text_free(&text);
}
static void random_start(uint64_t seed) { random_state = seed; }
static double random_next(void) { return random_uniform(&random_state); }

static void start_steps(int steps) { line = progress_start("step", steps); }
static void show_step(int done, const char* figures) {
  progress_show(&line, done, "%s", figures ? figures : "");
}
static void end_steps(void) { progress_end(&line); }

static void start(int epochs) {
  scores = history_start(epochs);
  line = progress_start("epoch", epochs);
}
static void show(int done, double loss, double accuracy, double held_out_loss,
                 double held_out_accuracy, const char* text) {
  history_add(&scores, (score){loss, accuracy}, (score){held_out_loss, held_out_accuracy});
  progress_show(&line, done, "%s", text ? text : "");
}
static void finish(double seconds) {
  progress_end(&line);
  history_print(&scores, seconds);
  fflush(stdout);  // before what Java prints
}

static void page_open(const char* path, const char* title, const char* subtitle) {
  static char kept[512];  // the page refers to its path
  snprintf(kept, sizeof kept, "%s", path ? path : "");
  page = picture_open(kept, title, subtitle);
}
static void page_figures(double seconds) { history_draw_figures(&scores, page, seconds); }
static void page_curves(const char* label) { history_draw_curves(&scores, page, label); }
static void page_boundary(const char* title, float* probability, int size, double low, double high,
                          float* points, float* labels, int64_t count) {
  picture_boundary(page, title, probability, (uint32_t)size, low, high, points, labels,
                   (size_t)count);
}
static void page_confusion(const char* title, int64_t* counts, int64_t classes) {
  picture_confusion(page, title, counts, (size_t)classes);
}
static void page_mistakes(const char* title, float* pixels, int* labels, int* predicted,
                          int64_t count, int width, int height) {
  picture_image* images = calloc((size_t)count + 1, sizeof *images);
  for (int64_t i = 0; images && i < count; i++) {
    images[i] = (picture_image){pixels + i * width * height, labels[i], predicted[i]};
  }
  uint32_t w = (uint32_t)width, h = (uint32_t)height;
  if (images) picture_mistakes(page, title, images, (size_t)count, w, h);
  free(images);
}
static void page_two_figures(const char* name, const char* value, const char* other,
                             const char* its_value) {
  picture_figures(page, (picture_figure[]){{name, value}, {other, its_value}}, 2);
}
static void page_losses(double* steps, double* trained_on, double* held_out, int count) {
  size_t n = (size_t)count;
  picture_series series[] = {{"trained on", steps, trained_on, n}, {"held out", steps, held_out, n}};
  picture_curves(page, (picture_axes){"Loss", "step", "nats a character", false, -1}, series, 2);
}
static void page_text(const char* title, signed char* bytes, int64_t size) {
  picture_text(page, title, (const char*)bytes, (size_t)size);
}
static bool page_close(void) { return picture_close(page); }
%}
