// SPDX-License-Identifier: Apache-2.0
// One self-contained HTML page with the pictures of a training run: no scripts, no other files.
// It reads well from 400 pixels of width on, and follows the reader's light or dark mode.
//
// Open, add panels in the order they should appear, close. Trouble with memory or the disk is kept
// until picture_close, which reports it; every call takes NULL and then does nothing.
#ifndef EXAMPLES_SUPPORT_PICTURE_H
#define EXAMPLES_SUPPORT_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct picture picture;

picture* picture_open(const char* path, const char* title, const char* subtitle);
bool picture_close(picture* p);  // false: the page is not (wholly) there, stderr says why

// Numbers worth a headline, four at most in a row: "held out" over "98.6 %".
typedef struct {
  const char* name;
  const char* value;
} picture_figure;
void picture_figures(picture* p, const picture_figure* figures, size_t count);

// Curves over one pair of axes. The first two series are the blue and the orange one: by
// convention what was trained on, and what was held out.
typedef struct {
  const char* name;
  const double *x, *y;
  size_t count;
} picture_series;
typedef struct {
  const char* title;
  const char *x_label, *y_label;  // with the unit: "accuracy (%)"
  bool from_zero;                 // the y axis begins at 0
  int best;  // marks the last series at its +1: greatest, -1: smallest value; 0: nowhere
} picture_axes;
void picture_curves(picture* p, picture_axes axes, const picture_series* series, size_t count);

// What a classifier of the plane believes, and the points it learnt from. `probability` of class 1
// is size x size, the first row at the lowest y; both axes run from `low` to `high`.
void picture_boundary(picture* p, const char* title, const float* probability, uint32_t size,
                      double low, double high, const float* points, const float* labels,
                      size_t count);

// counts[true class x classes + predicted class]
void picture_confusion(picture* p, const char* title, const int64_t* counts, size_t classes);

// Images with values from 0 (paper) to 1 (ink), each with what it is and what it was taken for.
typedef struct {
  const float* pixels;
  int label, predicted;
} picture_image;
void picture_mistakes(picture* p, const char* title, const picture_image* images, size_t count,
                      uint32_t width, uint32_t height);

void picture_text(picture* p, const char* title, const char* text, size_t size);

#endif
