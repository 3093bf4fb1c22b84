// SPDX-License-Identifier: Apache-2.0
// A text file as small integers, one for each different byte in it.
#ifndef EXAMPLES_SUPPORT_TEXT_DATA_H
#define EXAMPLES_SUPPORT_TEXT_DATA_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t length;
  int64_t* symbol;  // length; each below `symbols`
  int symbols;
  char byte[256];  // what each symbol stands for, in ascending order
} text_data;

// Reads plain or gzip. False after saying on stderr what is wrong; then the text is empty.
bool text_read(const char* path, text_data* text);
void text_free(text_data* text);

#endif
