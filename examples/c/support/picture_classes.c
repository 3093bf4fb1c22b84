// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "picture_internal.h"
#include "png.h"

enum { view = 400, left = 34, right = 390, top = 8, bottom = 364 };

// Blue for class 0, orange for class 1, clear where the classifier cannot tell: so the page's own
// colour shows through, light or dark.
static char* field(const float* probability, uint32_t size) {
  static const uint8_t ink[2][3] = {{0x3d, 0x8a, 0xe0}, {0xe8, 0x70, 0x30}};
  uint8_t* rgba = malloc((size_t)size * size * 4);
  if (!rgba) return NULL;
  for (uint32_t row = 0; row < size; row++) {
    for (uint32_t column = 0; column < size; column++) {
      float p = probability[(size_t)(size - 1 - row) * size + column];  // images begin at the top
      uint8_t* pixel = rgba + ((size_t)row * size + column) * 4;
      for (int c = 0; c < 3; c++) pixel[c] = ink[p > 0.5f][c];
      pixel[3] = (uint8_t)(p >= 0 && p <= 1 ? 150 * fabsf(2 * p - 1) : 0);
    }
  }
  char* uri = png_data_uri(rgba, size, size);
  free(rgba);
  return uri;
}

void picture_boundary(picture* p, const char* title, const float* probability, uint32_t size,
                      double low, double high, const float* points, const float* labels,
                      size_t count) {
  if (!p) return;
  picture_panel(p, title, "tall");
  fputs(
      "<div class=legend><span><i class='key dot b0'></i>class 0</span>"
      "<span><i class='key dot b1'></i>class 1</span>"
      "<span>shade: the network's certainty</span></div>",
      p->file);
  fprintf(p->file, "<svg viewBox='0 0 %d %d' role=img>", view, view);
  char* uri = field(probability, size);
  if (!uri) p->out_of_memory = true;
  fprintf(p->file, "<image x=%d y=%d width=%d height=%d preserveAspectRatio=none href='%s' />",
          left, top, right - left, bottom - top, uri ? uri : "");
  free(uri);
  double scale = (right - left) / (high - low);
  for (int i = 0; i <= 4; i++) {
    double value = 0.25 * i;
    if (value < low || value > high) continue;
    fprintf(p->file, "<text x=%.1f y=%d text-anchor=middle>%.2g</text>",
            left + (value - low) * scale, bottom + 17, value);
    fprintf(p->file, "<text x=%d y=%.1f text-anchor=end>%.2g</text>", left - 5,
            bottom - (value - low) * scale + 4, value);
  }
  fprintf(p->file, "<text x=%d y=%d text-anchor=middle>x1</text>", (left + right) / 2, view - 2);
  fprintf(p->file, "<text transform='translate(11 %d)rotate(-90)' text-anchor=middle>x2</text>",
          (3 * top + 5 * bottom) / 8);
  fprintf(p->file, "<rect class=axis fill=none x=%d y=%d width=%d height=%d />", left, top,
          right - left, bottom - top);
  double radius = count > 200 ? 2.5 : 4.5;
  for (size_t i = 0; i < count; i++) {
    fprintf(p->file, "<circle class='f%d halo' cx=%.1f cy=%.1f r=%.1f />", labels[i] > 0.5f,
            left + (points[2 * i] - low) * scale, bottom - (points[2 * i + 1] - low) * scale,
            radius);
  }
  fputs("</svg></section>\n", p->file);
}

// Each row is shaded by its share, so that rare classes count as much as common ones; the square
// root lifts the few mistakes into sight.
void picture_confusion(picture* p, const char* title, const int64_t* counts, size_t classes) {
  if (!p || classes == 0) return;
  picture_panel(p, title, "");
  fputs(
      "<div class=legend><span><i class='key dot b0'></i>right</span>"
      "<span><i class='key dot b1'></i>mistaken</span></div>",
      p->file);
  fprintf(p->file, "<svg viewBox='0 0 %d %d' role=img>", view, view);
  double cell = (double)(right - left) / (double)classes;
  for (size_t row = 0; row < classes; row++) {
    int64_t sum = 0;
    for (size_t column = 0; column < classes; column++) sum += counts[row * classes + column];
    double y = top + (double)row * cell;
    fprintf(p->file, "<text x=%d y=%.1f text-anchor=end>%zu</text>", left - 6, y + cell / 2 + 4,
            row);
    fprintf(p->file, "<text x=%.1f y=%d text-anchor=middle>%zu</text>",
            left + ((double)row + 0.5) * cell, bottom + 15, row);
    for (size_t column = 0; column < classes; column++) {
      int64_t n = counts[row * classes + column];
      double x = left + (double)column * cell, share = sum > 0 ? (double)n / (double)sum : 0;
      bool hit = row == column;
      fprintf(
          p->file, "<rect class=%s fill-opacity=%.2f x=%.1f y=%.1f width=%.1f height=%.1f rx=3>",
          n == 0 ? "none"
          : hit  ? "f0"
                 : "f1",
          hit ? 0.15 + 0.45 * share : 0.2 + 0.8 * sqrt(share), x + 1, y + 1, cell - 2, cell - 2);
      fprintf(p->file, "<title>%" PRId64 " of class %zu read as %zu</title></rect>", n, row,
              column);
      if (n > 0) {
        fprintf(p->file, "<text class=count x=%.1f y=%.1f text-anchor=middle>%" PRId64 "</text>",
                x + cell / 2, y + cell / 2 + 4, n);
      }
    }
  }
  fprintf(p->file, "<text x=%d y=%d text-anchor=middle>predicted class</text>", (left + right) / 2,
          view - 4);
  fprintf(p->file,
          "<text transform='translate(11 %d)rotate(-90)' text-anchor=middle>true class</text>",
          (top + bottom) / 2);
  fputs("</svg></section>\n", p->file);
}
