// SPDX-License-Identifier: Apache-2.0
#include "digits_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void digits_free(digits_set* set) {
  free(set->pixels);
  free(set->label);
  *set = (digits_set){0};
}

// Room for one more digit; the sets are small, so a block at a time will do.
static bool grow(digits_set* set) {
  enum { block = 512 };
  if (set->count % block != 0) return true;
  size_t room = (size_t)set->count + block;
  float* pixels = realloc(set->pixels, room * digits_pixels * sizeof *pixels);
  if (pixels) set->pixels = pixels;
  int64_t* label = realloc(set->label, room * sizeof *label);
  if (label) set->label = label;
  return pixels && label;
}

// "p0,p1,...,p63,class"
static bool read_line(const char* line, float* pixels, int64_t* label) {
  for (int i = 0; i <= digits_pixels; i++) {
    char* end;
    long value = strtol(line, &end, 10);
    bool last = i == digits_pixels;
    if (end == line || value < 0 || value > (last ? 9 : 16)) return false;
    if (!last && *end != ',') return false;
    if (last) {
      *label = value;
    } else {
      pixels[i] = (float)value / 16;
    }
    line = end + 1;
  }
  return true;
}

bool digits_read(const char* path, digits_set* train, digits_set* held_out) {
  *train = *held_out = (digits_set){0};
  gzFile file = gzopen(path, "rb");
  if (!file) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return false;
  }
  char line[512];
  int64_t number = 0;
  const char* wrong = NULL;
  while (!wrong && gzgets(file, line, sizeof line)) {
    digits_set* set = number++ % 5 == 4 ? held_out : train;
    if (!grow(set)) {
      wrong = "out of memory";
    } else if (!read_line(line, set->pixels + set->count * digits_pixels,
                          set->label + set->count)) {
      wrong = "not 64 pixels of 0 to 16 and a class of 0 to 9";
    } else {
      set->count++;
    }
  }
  if (gzclose(file) != Z_OK && !wrong) wrong = "the file ends early or is damaged";
  if (!wrong && held_out->count == 0) wrong = "too few digits";
  if (!wrong) return true;
  fprintf(stderr, "%s, line %lld: %s\n", path, (long long)number, wrong);
  digits_free(train);
  digits_free(held_out);
  return false;
}
