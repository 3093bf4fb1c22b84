// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "picture_internal.h"

// The drawing area inside a view of 400 x 250 units, with room for labels at the left and below.
enum { view_width = 400, view_height = 250, left = 46, right = 388, top = 14, bottom = 204 };

typedef struct {
  double low, high, step;
} ticks;

// About five round numbers (1, 2 or 5 times a power of ten apart) that span the values.
static ticks choose_ticks(double low, double high) {
  if (!(high > low)) {
    double room = fabs(low) > 0 ? 0.5 * fabs(low) : 1;
    low -= low == 0 ? 0 : room;
    high += room;
  }
  double raw = (high - low) / 5, power = pow(10, floor(log10(raw)));
  double step = raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1;
  step *= power;
  return (ticks){floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step, step};
}

static double place(double value, double low, double high, double from, double to) {
  return from + (value - low) / (high - low) * (to - from);
}

static void span(const picture_series* series, size_t count, bool of_y, double* low, double* high) {
  *low = INFINITY, *high = -INFINITY;
  for (size_t s = 0; s < count; s++) {
    for (size_t i = 0; i < series[s].count; i++) {
      double value = of_y ? series[s].y[i] : series[s].x[i];
      if (!isfinite(value)) continue;
      *low = fmin(*low, value);
      *high = fmax(*high, value);
    }
  }
  if (*low > *high) *low = 0, *high = 1;
}

static void draw_axes(picture* p, const picture_axes* axes, ticks x, ticks y) {
  int decimals = y.step < 1 ? (int)ceil(-log10(y.step) - 1e-9) : 0;
  for (int i = 0; y.low + i * y.step < y.high + 0.5 * y.step; i++) {
    double value = y.low + i * y.step, at = place(value, y.low, y.high, bottom, top);
    fprintf(p->file, "<line class=%s x1=%d x2=%d y1=%.1f y2=%.1f />", i == 0 ? "axis" : "grid",
            left, right, at, at);
    fprintf(p->file, "<text x=%d y=%.1f text-anchor=end>%.*f</text>", left - 6, at + 4, decimals,
            fabs(value) < 1e-9 ? 0 : value);
  }
  decimals = x.step < 1 ? (int)ceil(-log10(x.step) - 1e-9) : 0;
  double first = ceil(x.low / x.step - 1e-9) * x.step;
  for (int i = 0; first + i * x.step < x.high + 1e-6 * x.step; i++) {
    double value = first + i * x.step;
    fprintf(p->file, "<text x=%.1f y=%d text-anchor=middle>%.*f</text>",
            place(value, x.low, x.high, left, right), bottom + 18, decimals, value);
  }
  fprintf(p->file, "<text x=%d y=%d text-anchor=middle>", (left + right) / 2, bottom + 38);
  picture_escaped(p, axes->x_label, strlen(axes->x_label));
  fprintf(p->file, "</text>");
}

// More points than the eye can part make a heavy page: one in so many is drawn, the last always.
static void draw_curve(picture* p, const picture_series* series, size_t number, ticks x, ticks y) {
  size_t stride = series->count / 800 + 1;
  fprintf(p->file, "<path class='curve s%zu' d='", number);
  char command = 'M';
  for (size_t i = 0; i < series->count; i++) {
    bool last = i + 1 == series->count;
    if ((i % stride != 0 && !last) || !isfinite(series->y[i])) continue;
    fprintf(p->file, "%c%.1f %.1f", command, place(series->x[i], x.low, x.high, left, right),
            place(series->y[i], y.low, y.high, bottom, top));
    command = 'L';
  }
  fputs("'/>", p->file);
}

static void mark_best(picture* p, const picture_axes* axes, const picture_series* series,
                      size_t number, ticks x, ticks y) {
  size_t best = series->count;
  for (size_t i = 0; i < series->count; i++) {
    if (!isfinite(series->y[i])) continue;
    if (best == series->count || axes->best * series->y[i] > axes->best * series->y[best]) best = i;
  }
  if (best == series->count) return;
  double at_x = place(series->x[best], x.low, x.high, left, right);
  double at_y = place(series->y[best], y.low, y.high, bottom, top);
  fprintf(p->file, "<circle class='f%zu halo' cx=%.1f cy=%.1f r=4.5 />", number, at_x, at_y);
  // On the side where no curve goes, unless the edge is there.
  bool above = axes->best > 0 ? at_y - top > 20 : bottom - at_y < 24;
  fprintf(p->file, "<text class=strong x=%.1f y=%.1f text-anchor=%s>best %.3g</text>", at_x,
          above ? at_y - 11 : at_y + 20,
          at_x > right - 50  ? "end"
          : at_x < left + 50 ? "start"
                             : "middle",
          series->y[best]);
}

void picture_curves(picture* p, picture_axes axes, const picture_series* series, size_t count) {
  if (!p) return;
  if (count > 3) count = 3;  // more lines than inks is more than one picture should hold
  picture_panel(p, axes.title, "");
  fputs("<div class=legend><span>", p->file);
  picture_escaped(p, axes.y_label, strlen(axes.y_label));
  fputs("</span>", p->file);
  for (size_t s = 0; s < count; s++) {
    fprintf(p->file, "<span><i class='key b%zu'></i>", s);
    picture_escaped(p, series[s].name, strlen(series[s].name));
    fputs("</span>", p->file);
  }
  fputs("</div>", p->file);

  double low, high;
  span(series, count, false, &low, &high);
  ticks x = choose_ticks(low, high);
  x.step = fmax(x.step, 1);                    // epochs and steps are whole
  if (high > low) x.low = low, x.high = high;  // the curves fill the width
  span(series, count, true, &low, &high);
  if (axes.from_zero) low = fmin(low, 0);
  ticks y = choose_ticks(low, high);

  fprintf(p->file, "<svg viewBox='0 0 %d %d' role=img>", view_width, view_height);
  draw_axes(p, &axes, x, y);
  for (size_t s = 0; s < count; s++) draw_curve(p, &series[s], s, x, y);
  if (axes.best && count > 0) mark_best(p, &axes, &series[count - 1], count - 1, x, y);
  fputs("</svg></section>\n", p->file);
}
