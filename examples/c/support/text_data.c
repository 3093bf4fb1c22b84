// SPDX-License-Identifier: Apache-2.0
#include "text_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void text_free(text_data* text) {
  free(text->symbol);
  *text = (text_data){0};
}

// The whole file in memory; NULL: `wrong` says why.
static unsigned char* read_all(const char* path, size_t* size, const char** wrong) {
  gzFile file = gzopen(path, "rb");  // reads what is not gzip as it is
  if (!file) {
    *wrong = strerror(errno);
    return NULL;
  }
  unsigned char* bytes = NULL;
  size_t room = 0;
  int got = 0;
  *size = 0;
  do {
    *size += (size_t)got;
    if (room - *size < 4096) {
      room = 2 * room + 65536;
      unsigned char* larger = realloc(bytes, room);
      if (!larger) {
        *wrong = "out of memory";
        break;
      }
      bytes = larger;
    }
    size_t space = room - *size < (1u << 30) ? room - *size : 1u << 30;
    got = gzread(file, bytes + *size, (unsigned)space);
  } while (got > 0);
  int closed = gzclose(file);
  if (!*wrong && (got < 0 || closed != Z_OK)) *wrong = "cannot be read to its end";
  if (!*wrong) return bytes;
  free(bytes);
  return NULL;
}

bool text_read(const char* path, text_data* text) {
  *text = (text_data){0};
  const char* wrong = NULL;
  size_t size = 0;
  unsigned char* bytes = read_all(path, &size, &wrong);
  if (!wrong && size == 0) wrong = "empty";
  if (!wrong && !(text->symbol = malloc(size * sizeof *text->symbol))) wrong = "out of memory";
  if (!wrong) {
    bool seen[256] = {false};
    int symbol[256] = {0};
    for (size_t i = 0; i < size; i++) seen[bytes[i]] = true;
    for (int b = 0; b < 256; b++) {
      if (!seen[b]) continue;
      symbol[b] = text->symbols;
      text->byte[text->symbols++] = (char)b;
    }
    for (size_t i = 0; i < size; i++) text->symbol[i] = symbol[bytes[i]];
    text->length = (int64_t)size;
  } else {
    fprintf(stderr, "%s: %s\n", path, wrong);
  }
  free(bytes);
  return !wrong;
}
