// SPDX-License-Identifier: Apache-2.0
// The 8 x 8 digits of examples/data, every fifth one held out.
#ifndef EXAMPLES_SUPPORT_DIGITS_DATA_H
#define EXAMPLES_SUPPORT_DIGITS_DATA_H

#include <stdbool.h>
#include <stdint.h>

enum { digits_pixels = 64 };

typedef struct {
  int64_t count;
  float* pixels;   // count x 64, from 0 (paper) to 1 (ink)
  int64_t* label;  // count, 0 to 9
} digits_set;

// False after saying on stderr what is wrong; then both sets are empty.
bool digits_read(const char* path, digits_set* train, digits_set* held_out);
void digits_free(digits_set* set);

#endif
